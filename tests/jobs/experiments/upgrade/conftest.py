from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.specification.named_files import specify
from jobs.specification.specification import Specification
from tests.support.cli.fixtures import here  # noqa: F401
from tests.support.cli.terminal import Desk

WORKLOAD = """\
name = "tiny"
benchmarks = ["fillseq"]
num = 33000
settle = "flush"
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    small = WORKLOAD.replace("num = 33000", "num = 16500\nscale = 128")
    (tmp_path / "tiny.toml").write_text(small)
    return Desk(tmp_path)


@pytest.fixture
def asked(tmp_path: Path) -> Callable[..., Specification]:
    """A check's specification, with the text of an OPTIONS file if there is one."""
    path = tmp_path / "asked.toml"
    path.write_text(WORKLOAD)

    def specification(options: str | None = None, **more: object) -> Specification:
        baseline = None
        if options is not None:
            (tmp_path / "OPTIONS.own").write_text(options)
            baseline = str(tmp_path / "OPTIONS.own")
        return specify(workload=str(path), baseline=baseline, **more)  # type: ignore[arg-type]

    return specification
