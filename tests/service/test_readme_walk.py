"""The walk in the README, pasted into a shell."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sampler.rocksdb.options_file import CF, parse_options
from tests.support import unused_port
from tests.support.api.processes import ROOT, environment

pytestmark = pytest.mark.slow

# So small, with memory as small, that a trial takes a fraction of a second; without settling,
# since RocksDB's LOG is slow to say that a tree is at rest.
WORKLOAD = """
name = "small"
num = 10000
scale = 256
settle = "none"
timeout_seconds = 60
"""
BASELINE = (
    "[Version]\n  rocksdb_version=7.8.3\n  options_file_version=1.1\n[DBOptions]\n"
    '[CFOptions "default"]\n  compression=kNoCompression\n'
)
JOB = {
    "workload": "small",
    "trials": 14,
    "strategy": "random",
    "objective": "sa",
    "no_price": True,
    "baseline_options": BASELINE,
    "space": {
        "name": "codecs",
        "parameter": [
            {"name": "compression_type", "choices": ["lz4", "snappy"]},
            {"name": "block_size"},
        ],
    },
}


def walk() -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"Paste this[^\n]*\n+```\n(.*?)```", text, re.DOTALL)
    return found[1]


@pytest.mark.db_bench
def test_a_new_user_can_paste_it(tmp_path: Path):
    port = unused_port()
    (tmp_path / "small.toml").write_text(WORKLOAD)
    # Another job, which takes seconds instead of minutes and is sure to find something.
    changes = {
        ".venv/bin/rocktune serve": f"'{sys.executable}' -m cli.main serve --port {port}",
        ".venv/bin/rocktune token": f"'{sys.executable}' -m cli.main token",
        "http://127.0.0.1:8080": f"http://127.0.0.1:{port}",
        '{"workload": "load-quick", "trials": 90}': json.dumps(JOB).replace("'", "'\\''"),
    }
    script = walk()
    for old, new in changes.items():
        assert script.count(old) == 1, old
        script = script.replace(old, new)
    env = environment(tmp_path, ROCKTUNE_WORKLOADS_DIR=str(tmp_path), XDG_DATA_HOME=str(tmp_path))
    ran = subprocess.run(
        ["bash", "-c", f"{script}\nkill %1\nwait"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,  # a minute alone; other tests run beside it
    )
    assert "event: end" in ran.stdout, ran.stderr
    options = parse_options((tmp_path / "OPTIONS.ini").read_text())
    assert options.sections[CF]["compression"] in ("kLZ4Compression", "kSnappyCompression")
    with (tmp_path / "trials.csv").open(newline="") as lines:
        assert len(list(csv.DictReader(lines))) == JOB["trials"]
    assert '"stopped"' in ran.stderr  # the server
