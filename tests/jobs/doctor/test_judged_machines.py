"""What is found good and bad in readings of machines that do not exist."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from jobs.doctor.examination import judge_db_bench
from jobs.doctor.findings import (
    Finding,
    Severity,
    graded,
    judge_benchmarks,
    judge_cpu,
    judge_disk_speed,
    judge_disk_state,
    judge_load,
    judge_memory,
    percentage,
)
from jobs.results.figures import figure
from sampler.bench.bench_folder import DiskSpeed, DiskState
from sampler.bench.installed import InstalledDbBench
from sampler.machine.host_load import CpuUse, Pressure
from sampler.machine.machine import CpuState, MemoryState
from sampler.rocksdb.options_file import OptionsFile
from tests.support.jobs.made_up import cpu, disk, memory, pressure, speed, use

GIB = 2**30


def levels(findings: Iterable[Finding]) -> dict[str, str]:
    return {finding.check: finding.level.value for finding in findings if finding.level != "ok"}


def test_bad_news_has_advice():
    Finding("x", Severity.OK, "y")
    for level in (Severity.NOTE, Severity.WARNING, Severity.PROBLEM):
        with pytest.raises(ValueError, match="advice is missing"):
            Finding("x", level, "y")


@pytest.mark.parametrize(
    ("value", "level"),
    [
        (0.0, "ok"),
        (1.0, "ok"),
        (1.1, "note"),
        (2.1, "warning"),
        (3.0, "warning"),
        (3.1, "problem"),
    ],
)
def test_a_limit_itself_is_within_it(value: float, level: str):
    assert graded(value, (1, 2, 3)) == level


def test_figures_are_short():
    assert [percentage(v) for v in (0, 0.0046, 0.046, 0.14, 1)] == [
        "0%",
        "0.46%",
        "4.6%",
        "14%",
        "100%",
    ]
    assert [figure(v) for v in (0.61234, 26860.4)] == ["0.6123", "26,860"]


def test_of_a_good_machine_nothing_is_said_to_be_bad():
    now = memory()
    findings = [
        *judge_cpu(cpu(), most_jobs=8),
        *judge_load(use(), pressure(), seconds=2),
        *judge_benchmarks((), None),
        *judge_memory(now, now, load_bytes=GIB, stalled=0.0),
        *judge_disk_state(disk(), needed_bytes=GIB, least_free_bytes=0, wants_direct=True),
        *judge_disk_speed(speed()),
    ]
    assert len(findings) == 15
    assert levels(findings) == {}


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        (cpu(cores=1), {"cores": "warning"}),
        (cpu(cores=2), {"cores": "note"}),
        (cpu(governors=("performance", "powersave")), {"governor": "warning"}),
        (cpu(governors=("schedutil",)), {"governor": "warning"}),
        (cpu(governors=()), {}),
        (cpu(governors=(), virtual=True, turbo=None), {"hypervisor": "note"}),
        (cpu(virtual=None), {"hypervisor": "note"}),
        (cpu(governors=(), virtual=None), {"hypervisor": "note"}),
        (cpu(turbo=True), {"turbo": "note"}),
        (cpu(quota=1.5), {"CPU limit": "warning"}),
        (cpu(quota=8.0), {}),
    ],
)
def test_processors(reading: CpuState, expected: dict[str, str]):
    assert levels(judge_cpu(reading, most_jobs=8)) == expected


@pytest.mark.parametrize(
    ("seen", "pressed", "expected"),
    [
        (use(others=0.03), pressure(), {"other load": "note"}),
        (use(others=0.06), pressure(), {"other load": "warning"}),
        (use(others=0.26), pressure(), {"other load": "problem"}),
        (use(own=0.9), pressure(), {}),
        (use(stolen=0.006), pressure(), {"stolen time": "note"}),
        (use(stolen=0.02), pressure(), {"stolen time": "warning"}),
        (use(stolen=0.11), pressure(), {"stolen time": "problem"}),
        (use(), pressure(io=0.06), {"disk load": "note"}),
        (use(), pressure(io=0.2), {"disk load": "warning"}),
        (use(), pressure(io=0.7), {"disk load": "problem"}),
        (use(), Pressure(load=0, stalled={}), {"disk load": "note"}),
        (use(), Pressure(load=None, stalled={"io": 0.0}), {}),
        (use(others=None), pressure(), {"other load": "note"}),
        (use(stolen=None), pressure(), {"stolen time": "note"}),
    ],
)
def test_load(seen: CpuUse, pressed: Pressure, expected: dict[str, str]):
    assert levels(judge_load(seen, pressed, seconds=2)) == expected


def test_other_load_that_niceness_does_not_hold_back_is_told_so():
    apart, together = (
        judge_load(
            use(others=0.3), Pressure(load=1, stalled={}, by_session=by_session), seconds=1.0
        )[0].advice
        for by_session in (True, False)
    )
    assert "kernel.sched_autogroup_enabled" in apart
    assert apart.startswith(together)


def test_those_who_load_the_machine_are_named():
    seen = use(others=0.5, busiest=(("mysqld", 17, 0.4), ("cron", 5, 0.06)))
    found = judge_load(seen, pressure(2.5, cpu=0.3), seconds=2)[0].found
    assert "others used 50% of all CPUs over 2 s, load average 2.5" in found
    assert "waited 30% of the last 10 s: mysqld (17) 40%, cron (5) 6%" in found


def test_a_benchmark_outside_of_the_lock_is_worse_than_a_trial_within_it():
    assert levels(judge_benchmarks((), "process 5")) == {"benchmarks": "warning"}
    assert levels(judge_benchmarks((6,), "process 5")) == {"benchmarks": "warning"}
    assert levels(judge_benchmarks(None, "process 5")) == {"benchmarks": "warning"}
    assert levels(judge_benchmarks(None, None)) == {"benchmarks": "note"}
    (finding,) = judge_benchmarks((6, 7), None)
    assert finding.level is Severity.PROBLEM
    assert finding.found.endswith("6, 7")


@pytest.mark.parametrize(
    ("after", "stalled", "expected"),
    [
        (memory(available_bytes=GIB), 0.0, {"memory": "note"}),
        (memory(left_by_groups=GIB), 0.0, {"memory": "note"}),
        (memory(left_by_groups=2**40), 0.0, {}),
        (memory(available_bytes=None), 0.0, {"memory": "note"}),
        (memory(available_bytes=None, left_by_groups=2**40), 0.0, {}),
        (memory(pages_swapped=None), 0.0, {"swap": "note"}),
        (memory(pages_swapped=None), 0.02, {"swap": "warning"}),
        (memory(swap_used_bytes=None), 0.0, {}),
        (memory(pages_swapped=8), 0.0, {"swap": "warning"}),
        (memory(swap_used_bytes=GIB), 0.0, {}),
        (memory(), 0.02, {"swap": "warning"}),
        (memory(), None, {}),
        (memory(huge_pages="always"), 0.0, {"huge pages": "note"}),
        (memory(huge_pages=None), 0.0, {}),
    ],
)
def test_memory(after: MemoryState, stalled: float | None, expected: dict[str, str]):
    assert levels(judge_memory(memory(), after, load_bytes=GIB, stalled=stalled)) == expected


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        (disk(refusal="cannot make a folder"), {"bench folder": "problem"}),
        (disk(free_bytes=GIB - 1), {"free disk": "problem"}),
        (disk(free_bytes=GIB), {"free disk": "note"}),
        (disk(kind="tmpfs"), {"file system": "problem"}),
        (disk(kind="ramfs"), {"file system": "problem"}),
        (disk(kind="overlay"), {"file system": "warning"}),
        (disk(kind="nfs4"), {"file system": "warning"}),
        (disk(kind="fuse.sshfs"), {"file system": "warning"}),
        (disk(rotational=True), {}),
        (disk(rotational=None), {}),
        (disk(direct=False), {"direct I/O": "warning"}),
        (disk(direct=None), {}),
    ],
)
def test_disks(reading: DiskState, expected: dict[str, str]):
    found = judge_disk_state(reading, needed_bytes=GIB, least_free_bytes=0, wants_direct=True)
    assert levels(found) == expected


def test_the_less_of_what_there_is_and_of_what_is_granted_is_told():
    now = memory(available_bytes=4 * GIB, left_by_groups=3 * GIB)
    finding = judge_memory(now, now, load_bytes=GIB, stalled=0.0)[0]
    assert finding.found.startswith("3 GiB available (limited by a control group), ")
    now = memory(available_bytes=2 * GIB, left_by_groups=3 * GIB)
    finding = judge_memory(now, now, load_bytes=GIB, stalled=0.0)[0]
    assert finding.found.startswith("2 GiB available, ")


@pytest.mark.parametrize(
    ("free", "expected"),
    [(3 * GIB - 1, {"free disk": "problem"}), (6 * GIB - 1, {"free disk": "note"}), (6 * GIB, {})],
)
def test_room_is_what_a_trial_needs_and_what_must_be_left(free: int, expected: dict[str, str]):
    found = judge_disk_state(
        disk(free_bytes=free), needed_bytes=2 * GIB, least_free_bytes=GIB, wants_direct=False
    )
    assert levels(found) == expected
    assert found[1].found.endswith("GiB free; a trial needs 2 GiB and must leave 1 GiB")


def test_direct_io_that_nobody_asks_for_is_not_missed():
    reading = disk(direct=False)
    found = judge_disk_state(reading, needed_bytes=0, least_free_bytes=0, wants_direct=False)
    assert levels(found) == {}


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        (speed(rate=99e6), {"write speed": "note"}),
        (speed(syncs=(0.001,) * 98 + (0.07,) * 2), {"fsync": "note"}),
        (speed(syncs=(0.001,) * 98 + (0.14,) * 2), {"fsync": "warning"}),
        (speed(syncs=(0.001,) * 98 + (0.7,) * 2), {"fsync": "problem"}),
        (speed(syncs=(0.001,) * 99 + (0.7,)), {}),
        (speed(syncs=(0.000002,) * 100), {"fsync": "warning"}),
    ],
)
def test_speeds_of_disks(measured: DiskSpeed, expected: dict[str, str]):
    assert levels(judge_disk_speed(measured)) == expected


class TestDbBench:
    def installed(self, *warnings: str) -> InstalledDbBench:
        return InstalledDbBench(Path("/db_bench"), "9.0.0", OptionsFile(), frozenset(), warnings)

    def test_a_good_build(self):
        findings = judge_db_bench(self.installed(), ())
        assert levels(findings) == {}
        assert findings[0].found == "/db_bench, RocksDB 9.0.0"

    @pytest.mark.parametrize(
        ("warning", "level"),
        [
            ("Optimization is disabled: benchmarks unnecessarily slow", "problem"),
            ("Assertions are enabled; benchmarks unnecessarily slow", "warning"),
            ("Snappy compression is not enabled", "warning"),
        ],
    )
    def test_what_it_says_of_itself(self, warning: str, level: str):
        assert levels(judge_db_bench(self.installed(warning), ())) == {"build": level}

    def test_codecs_that_it_lacks(self):
        findings = judge_db_bench(self.installed(), ("zstd", "lz4"))
        assert levels(findings) == {"codecs": "warning"}
        assert "zstd, lz4" in findings[-1].found

    def test_none_at_all(self):
        (finding,) = judge_db_bench("no 'db_bench' on this machine; install it", ())
        assert finding.level is Severity.PROBLEM
        assert finding.found == "no 'db_bench' on this machine"
        assert "apt-get install rocksdb-tools" in finding.advice

    def test_none_where_none_is_needed(self):
        assert levels(judge_db_bench("none", (), needed=False)) == {}
