"""db_bench's command line: what a configuration, a workload and a folder come to as flags."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from sampler.bench.bench_plan import BenchPlan
from sampler.parameters.parameter import Value
from sampler.runner.process import HELD_BYTES
from sampler.space.space import Configuration
from sampler.workload.workload import (
    COLUMN_FAMILIES,
    SEED_APART,
    SHARED,
    Prepare,
    Settle,
    Workload,
)

TRACE = "trace"  # the file in a trial's folder that holds what is replayed
SCAN_NEXTS = 20  # keys of a short scan after its first
# The heading of what ``stats`` prints. From there on the output is held back until the tree is at
# rest; what is printed after it was computed after it.
HELD_FROM = "** Compaction Stats ["
_REPLAY_THREADS = "trace_replay_threads"
_LEAST_STATS_BYTES = 4096  # it prints 7 KB of 7.8.3, and more of newer ones
_HELD = ("stats",) * (1 + -(-HELD_BYTES // _LEAST_STATS_BYTES))
_SETTLING = {"wait": ("flush", *_HELD), "flush": ("flush",), "none": ()}


def command_line(program: Path, flags: Mapping[str, Value], folder: Path) -> list[str]:
    """The arguments of a run in a trial's folder: its database, its OPTIONS file, its flags."""
    places = {"db": str(folder / "db"), "options_file": str(folder / "OPTIONS.ini")}
    if flags.get("report_interval_seconds"):  # else it would be written where Rocktune works
        places["report_file"] = str(folder / "report.csv")
    if flags.get(_REPLAY_THREADS):
        places["trace_file"] = str(folder / TRACE)
    return [str(program), *flag_arguments({**places, **flags})]


def flag_arguments(flags: Mapping[str, Value]) -> list[str]:
    """Flags as arguments of db_bench."""
    return [
        f"--{name}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in flags.items()
    ]


def measured_flags(plan: BenchPlan, configuration: Configuration) -> dict[str, Value]:
    """The flags of the measured process.

    They carry only the workload and deployment parameters: beside an OPTIONS file db_bench ignores
    nearly every option flag, so what is measured is what is exported.
    """
    workload = plan.workload
    after = {"use_existing_db": True, "seed": workload.seed + SEED_APART}
    return {
        "benchmarks": _benchmarks(workload.benchmarks, workload.owes),
        "num": workload.num,
        "threads": workload.threads_of(configuration),
        **_common(plan, configuration),
        **(after if workload.prepare else {}),
        **plan.flags(configuration),
        **dict(workload.flags),
        **_replay_flags(workload, workload.threads_of(configuration)),
    }


def _replay_flags(workload: Workload, threads: int) -> dict[str, Value]:
    """What replays a trace.

    With one column family db_bench (7.8.3, 9.10) stops at an assertion, for it holds no handle
    of it: then there is a second one that stays empty. It makes those that are missing.
    """
    if workload.trace is None:
        return {}
    return {
        "threads": 1,  # db_bench refuses more
        _REPLAY_THREADS: threads,
        "trace_replay_fast_forward": workload.trace.fast_forward,
        COLUMN_FAMILIES: max(2, workload.column_families),
    }


def preparing_flags(
    plan: BenchPlan, prepare: Prepare, configuration: Configuration
) -> dict[str, Value]:
    """The flags of the process that fills the database: it always ends with a settled tree."""
    return {
        "benchmarks": _benchmarks(prepare.benchmarks, "wait"),
        "num": prepare.num,
        "threads": prepare.threads,
        **_common(plan, configuration),
        **plan.flags(configuration),
        **{name: value for name, value in plan.workload.flags if name in SHARED},
        **dict(prepare.flags),
    }


def reading_flags(
    plan: BenchPlan, configuration: Configuration, benchmark: str, operations: int
) -> dict[str, Value]:
    """The flags of a process that reads what a run has left, and writes nothing.

    With the load's own seed ``readrandom`` asks for the keys that ``fillrandom`` wrote first.
    """
    workload = plan.workload
    return {
        "benchmarks": benchmark,
        "num": workload.prepare.num if workload.prepare else workload.num,
        "reads": operations,
        "seek_nexts": SCAN_NEXTS,
        "use_existing_db": True,
        "readonly": True,
        **_common(plan, configuration),
        **plan.flags(configuration),
        **{name: value for name, value in workload.flags if name in SHARED},
    }


def _benchmarks(benchmarks: Sequence[str], settle: Settle) -> str:
    return ",".join([*benchmarks, *_SETTLING[settle], "stats", "sstables"])


def _common(plan: BenchPlan, configuration: Configuration) -> dict[str, Value]:
    workload = plan.workload
    return {
        "key_size": workload.key_size,
        "value_size": workload.value_size,
        "compression_ratio": configuration.get("compression_ratio", workload.compression_ratio),
        "seed": workload.seed,
        "statistics": True,
        "histogram": True,
        "progress_reports": False,
    }
