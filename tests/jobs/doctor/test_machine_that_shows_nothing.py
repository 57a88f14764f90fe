"""A sandbox without /proc and /sys: nothing is known, nothing fails, nothing is called well."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from jobs.doctor.findings import (
    Finding,
    Severity,
    judge_benchmarks,
    judge_cpu,
    judge_load,
    judge_memory,
)
from sampler.machine.host_load import between, read_moment, read_pressure, running
from sampler.machine.machine import (
    cpu_quota,
    governors,
    is_virtual,
    memory_left,
    read_cpu_state,
    read_memory_state,
    turbo,
)


@pytest.fixture(params=["empty", "missing"])
def nothing(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path if request.param == "empty" else tmp_path / "missing"


def told(findings: Iterable[Finding]) -> dict[str, tuple[Severity, str]]:
    return {f.check: (f.level, f.found.split(":")[0]) for f in findings}


def test_processors(nothing: Path):
    assert governors(nothing) == ()
    assert turbo(nothing) is None
    assert is_virtual(nothing, nothing) is None
    assert cpu_quota(nothing, nothing) is None
    state = read_cpu_state(nothing, nothing)
    assert state.cores >= 1  # asked of the kernel itself
    assert told(judge_cpu(state, most_jobs=1))["hypervisor"] == (Severity.NOTE, "unknown")


def test_load(nothing: Path):
    use = between(read_moment(nothing), read_moment(nothing))
    assert (use.others, use.own, use.stolen, use.busiest) == (None, None, None, ())
    pressure = read_pressure(nothing)
    assert (pressure.load, pressure.stalled) == (None, {})
    assert running("db_bench", nothing) is None
    findings = [*judge_load(use, pressure, seconds=2), *judge_benchmarks(None, None)]
    checks = ("other load", "stolen time", "disk load", "benchmarks")
    assert told(findings) == dict.fromkeys(checks, (Severity.NOTE, "not visible here"))


def test_memory(nothing: Path):
    assert memory_left(nothing, nothing) is None
    state = read_memory_state(nothing, nothing)
    numbers = (state.available_bytes, state.left_by_groups, state.usable_bytes)
    assert numbers == (None, None, None)
    assert (state.swap_used_bytes, state.pages_swapped, state.huge_pages) == (None, None, None)
    findings = told(judge_memory(state, state, load_bytes=1, stalled=None))
    assert findings["memory"] == findings["swap"] == (Severity.NOTE, "not visible here")
