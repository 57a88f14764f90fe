"""With which db_bench a job may go on."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from db.schema.job_row import JobRow
from jobs.execution.assembly import require_same_build
from sampler.common.errors import InputError

BUILD = {"version": "7.8.3", "digest": "a" * 64, "source": None, "compiled": "2023-02-04"}
OTHER = {**BUILD, "digest": "b" * 64}


def left(*, done: int = 5, total: int | None = 12, **environment: Any) -> JobRow:
    standing = {"done": done, "failed": 0, "total": total}
    return cast("JobRow", SimpleNamespace(id=3, standing=standing, environment=environment))


@pytest.mark.parametrize(
    "change", [{"version": "7.9.2"}, {"digest": "b" * 64}, {"source": "1"}, {"compiled": "today"}]
)
def test_another_program_or_library_is_refused(change: dict[str, str]):
    with pytest.raises(InputError, match=r"job 3 was measured with RocksDB 7\.8\.3") as refused:
        require_same_build(left(build=BUILD), {"build": {**BUILD, **change}})
    assert "`warm_start` 3" in refused.value.problem
    with pytest.raises(InputError):
        require_same_build(left(build=BUILD, total=None), {"build": {**BUILD, **change}})


@pytest.mark.parametrize(
    ("row", "environment"),
    [
        (left(build=BUILD), {"build": dict(BUILD)}),
        (left(build=BUILD, done=0), {"build": OTHER}),
        (left(build=BUILD, done=12), {"build": OTHER}),
        (left(build=BUILD, hosts={"a": {}}), {"build": OTHER}),
        (left(build=BUILD), {"build": OTHER, "hosts": {"a": {}}}),
        (left(build=None), {"build": None}),
        (left(), {"build": BUILD}),
    ],
    ids=["the same", "nothing measured", "all measured", "cluster", "now a cluster", "command",
         "an earlier version's"],
)  # fmt: skip
def test_anything_else_goes_on(row: JobRow, environment: dict[str, Any]):
    require_same_build(row, environment)
