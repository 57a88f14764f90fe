from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.support.cli.fixtures import here, zygote
from tests.support.cli.terminal import Desk

__all__ = ["here", "zygote"]

WORKLOAD = """\
name = "tiny"
benchmarks = ["fillseq"]
num = 4000
settle = "flush"
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "tiny.toml").write_text(WORKLOAD)
    return Desk(tmp_path)


@pytest.fixture
def compare(
    here: Callable[..., int],
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., int]:
    """The command in this process, with the tiny load unless another is named."""
    monkeypatch.setenv("ROCKTUNE_DB", desk.database)
    return partial(here, "compare")
