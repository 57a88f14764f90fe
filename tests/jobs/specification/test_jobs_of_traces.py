from pathlib import Path

import pytest

from jobs.specification.named_files import inlined, registered_workloads, specify
from jobs.specification.resolved_job import resolve
from sampler.common.errors import InputError
from sampler.workload.workload_file import load_workload, require_no_place
from tests.support import DATA
from tests.support.sampler.traces import MIXED

REPLAYED = str(DATA / "good_workloads" / "replayed.toml")


def test_a_job_keeps_its_trace():
    problem = resolve(specify(workload=REPLAYED, space="default"), None).problem
    assert problem.workload == load_workload(REPLAYED)


def test_a_trace_that_writes_little_is_told_to_be_longer():
    asked = specify(workload=REPLAYED, space="default", scale=1)
    with pytest.raises(InputError, match=r"; replay more of the trace \(num is about the number"):
        resolve(asked, None)


def test_a_trace_cannot_be_confirmed_at_a_larger_scale():
    with pytest.raises(InputError, match="a trace replays the same operations at any scale"):
        specify(workload=REPLAYED, confirm_scale=8)


def test_a_service_knows_the_traces_of_its_operator_and_no_other(tmp_path: Path):
    (tmp_path / "mine.toml").write_text(f'name = "mine"\ntrace = "{MIXED}"\n')
    assert registered_workloads(tmp_path)["mine"]["trace"] == str(MIXED)
    with pytest.raises(InputError, match=r"workload.trace: .* not accepted over HTTP"):
        require_no_place(inlined({"workload": str(tmp_path / "mine.toml")})["workload"])
