"""The walk of docs/tutorials/your-database.md, pasted into a shell with the real db_bench."""

import hashlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from sampler.rocksdb.options_file import CF, parse_options
from tests.support.api.processes import ROOT, environment

pytestmark = [pytest.mark.slow, pytest.mark.db_bench]
# Sure to find something in seconds: codecs alone, by space alone.
SPACE = """
name = "codecs"

[[parameter]]
name = "compression_type"
choices = ["zstd", "lz4"]

[[parameter]]
name = "block_size"
"""


def walk() -> str:
    text = (ROOT / "docs/tutorials/your-database.md").read_text(encoding="utf-8")
    found = re.search(r"Paste this\.[^\n]*\n+```\n(.*?)```", text, re.DOTALL)
    return found[1]


def _hashes(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        path.name: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.iterdir())
    }


def test_a_new_user_can_paste_it(tmp_path: Path):
    (tmp_path / "codecs.toml").write_text(SPACE)
    script = walk()
    making, rest = script.split("rocktune profile", 1)
    changes = {
        "--num=300000": "--num=15000",
        # A load that is modelled writes 16 times the write buffers, in every trial.
        "--write_buffer_size=4194304": "--write_buffer_size=262144",
        "--target_file_size_base=4194304": "--target_file_size_base=262144",
        "--max_bytes_for_level_base=16777216": "--max_bytes_for_level_base=1048576",
        "mydb --check": "mydb --check || [ $? -eq 3 ]",  # a verdict, whichever
        "--trials 40": "--trials 12 --space codecs.toml --objective sa --strategy lhs --no-price "
        "--no-check",
    }
    for old, new in changes.items():
        assert script.count(old) == 1, old
        making, rest = making.replace(old, new), rest.replace(old, new)
    env = environment(tmp_path, XDG_DATA_HOME=str(tmp_path / "data"))
    made = subprocess.run(["bash", "-ec", making], cwd=tmp_path, env=env, capture_output=True)
    assert made.returncode == 0, made.stderr
    before = _hashes(tmp_path / "mydb")
    command = f'rocktune() {{ {shlex.quote(sys.executable)} -m cli.main "$@"; }}\n'
    ran = subprocess.run(
        ["bash", "-c", f"set -e\n{command}rocktune profile{rest}"],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=800,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert _hashes(tmp_path / "mydb") == before
    assert "Column family default" in ran.stdout
    assert re.search(
        r"^  Set in your program what no OPTIONS file holds: block cache, ", ran.stdout, re.M
    )
    assert re.search(
        r"^The load (matches|does not match) the database|^The runs cannot tell", ran.stdout, re.M
    )
    theirs = next((tmp_path / "mydb").glob("OPTIONS-*")).read_text()
    options = (tmp_path / "tuned/OPTIONS.ini").read_text()
    assert parse_options(options).get(CF, "compression") == "kZSTD"
    ours, before_it = (
        {line for line in text.splitlines() if not line.lstrip().startswith("#")}
        for text in (options, theirs)
    )
    changed = ours ^ before_it
    keys = {line.partition("=")[0].strip() for line in changed}
    result = json.loads((tmp_path / "tuned/result.json").read_text())
    assert "compression" in keys and len(keys) <= 3, (keys, result["best"]["configuration"])
    assert "+  compression=" in (tmp_path / "tuned/OPTIONS.diff").read_text()
    assert "compression" in ran.stdout.rpartition("+  compression=")[2]  # the table at the end
