import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.main import main
from tests.support.cli.terminal import Desk

WORKLOAD = """\
name = "tiny"
benchmarks = ["fillseq"]
num = 4000
settle = "flush"
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "tiny.toml").write_text(WORKLOAD)
    (tmp_path / "other.toml").write_text(WORKLOAD.replace("tiny", "other"))
    return Desk(tmp_path)


@pytest.fixture
def compare(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command in this process, from the desk: seconds of imports are saved."""
    for name in [name for name in os.environ if name.startswith("ROCKTUNE_")]:
        monkeypatch.delenv(name)
    for name, value in desk.variables().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ROCKTUNE_DB", desk.database)
    monkeypatch.chdir(desk.folder)
    return lambda *arguments: main(["compare", *map(str, arguments)])
