"""The picture of imports that scripts/draw_imports.py draws, over the counts of count_code.py."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def drawn(tmp_path: Path, modules: dict[str, str]) -> str:
    """The picture of a folder with these modules."""
    for name, text in modules.items():
        path = tmp_path / "made" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    made = tmp_path / "made"
    subprocess.run(["git", "init", "-q"], cwd=made, check=True)
    subprocess.run(["git", "add", "."], cwd=made, check=True)
    command = [sys.executable, "scripts/draw_imports.py", str(tmp_path / "x.svg"), str(made)]
    subprocess.run(command, cwd=ROOT, check=True)
    return (tmp_path / "x.svg").read_text()


@pytest.mark.parametrize("back", [False, True])
def test_an_import_that_runs_back_up_is_red(tmp_path: Path, back: bool):
    svg = drawn(
        tmp_path,
        {
            "sampler/a/x.py": "import sampler.b.y\n" if back else "X = 1\n",
            "sampler/b/y.py": "from sampler.a.x import X\n",
        },
    )
    fills = re.findall(r'<circle [^>]*fill="(#\w+)"', svg)
    assert fills == (["#d0021b"] * 2 if back else ["#2b5c8a"])


def test_a_package_stands_after_those_that_it_imports(tmp_path: Path):
    svg = drawn(tmp_path, {"db/a/x.py": "import db.z.y\n", "db/z/y.py": "import sampler.q.x\n",
                           "sampler/q/x.py": "X = 1\n"})  # fmt: skip
    assert re.findall(r'end">([^<]*)<', svg) == ["sampler/q", "db/z", "db/a"]
