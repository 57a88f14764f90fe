"""What can be seen of this machine without starting or loading anything."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.doctor.cpu_check import judge_cpu
from jobs.doctor.disk_check import judge_disk_state
from jobs.doctor.finding import Finding
from jobs.doctor.host_turn import look_for_benchmarks
from jobs.doctor.load_check import judge_load
from jobs.doctor.memory_check import judge_memory
from jobs.doctor.subject import Subject
from sampler.machine.cpu_state import read_cpu_state
from sampler.machine.host_load import read_pressure, watch_cpu
from sampler.machine.memory_state import read_memory_state
from sampler.runner.bench_folder import read_disk_state
from sampler.runner.settings import Settings

WATCH_SECONDS = 2.0  # of two CPUs 400 ticks: a share of 1% is 4 of them
_DIRECT = "use_direct_io_for_flush_and_compaction"


def look(subject: Subject, settings: Settings) -> Iterator[list[Finding]]:
    """The findings as they come; whoever is at work is not disturbed.

    What others do is looked at first: pressure is of the last ten seconds, and would be of the
    doctor's own work later.
    """
    pressure, memory = read_pressure(), read_memory_state()
    use = watch_cpu(WATCH_SECONDS)
    later = read_memory_state()
    yield judge_load(use, pressure, seconds=WATCH_SECONDS)
    yield look_for_benchmarks(settings)
    space, workload = subject.plan.space, subject.plan.workload
    load_bytes = workload.loaded_bytes() if workload.by_db_bench else 0
    stalled = pressure.stalled.get("memory")
    yield judge_memory(memory, later, load_bytes=load_bytes, stalled=stalled)
    jobs = space.by_name.get("max_background_jobs")
    most_jobs = int(jobs.high if jobs and jobs.high else space.context["max_background_jobs"])
    yield judge_cpu(read_cpu_state(), most_jobs=most_jobs)
    yield judge_disk_state(
        read_disk_state(settings.bench_dir),
        needed_bytes=subject.needed_bytes,
        least_free_bytes=settings.free_bytes,
        wants_direct=_DIRECT in space.by_name,
    )
