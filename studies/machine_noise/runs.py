"""The runs of the study: which there are, and how one is measured."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from jobs.execution.assembly import Assembly, assemble
from jobs.specification.named_files import specify
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.machine.machine import fingerprint
from sampler.runner.outcome import TrialState
from sampler.runner.process import tied
from sampler.runner.runner import LocalRunner
from sampler.runner.settings import Settings
from sampler.space.space import Configuration, digest
from sampler.workload.metric_table import MACHINE
from studies.machine_noise import neighbour

MOVED, NOISE, COST = PARTS = ("moved", "noise", "cost")
WORKLOADS = ("load-quick", "mixed-quick", "overwrite-quick")
BASELINE, QUIET, NEIGHBOUR, WITH, WITHOUT = "baseline", "quiet", "neighbour", "with", "without"
CONFIGURATIONS: Mapping[str, Configuration] = {
    BASELINE: {},
    "1 background job": {"max_background_jobs": 1},
    "16 background jobs": {"max_background_jobs": 16},
    **{f"codec {name}": {"compression_type": name} for name in ("none", "snappy", "lz4", "zstd")},
    "direct I/O": {"use_direct_io_for_flush_and_compaction": True},
}
_KEPT = (
    "time", "load_time", "rate", "waf", "sa", "cpu_seconds", "wall_seconds", "stall_percent",
    *MACHINE,
)  # fmt: skip
_FACTS = ("cpu", "cores", "memory_bytes", "file_system", "system")


@dataclass(frozen=True)
class Run:
    """One run to measure; no two of a study are the same.

    Attributes:
        case: The configuration, what is beside the run, or whether the probe is.
        round: Of ``noise`` the job.
        place: Within the round.
    """

    part: str
    workload: str
    case: str
    round: int
    place: int

    @property
    def configuration(self) -> Configuration:
        """What is measured."""
        return CONFIGURATIONS.get(self.case, {}) if self.part == MOVED else {}


@dataclass(frozen=True)
class Row:
    """A run that was measured."""

    run: Run
    state: str
    metrics: Mapping[str, float]
    started: str
    machine: Mapping[str, Any]

    @property
    def done(self) -> bool:
        """Whether it ended well."""
        return self.state == TrialState.DONE

    @property
    def trial(self) -> Trial:
        """As a job would keep it."""
        return Trial(
            number=self.run.place, phase=Phase.BASELINE, purpose=Purpose.BASELINE, seed=0,
            configuration=self.run.configuration, digest=digest(self.run.configuration),
            state=TrialState(self.state), metrics=self.metrics,
            started_at=datetime.fromisoformat(self.started),
        )  # fmt: skip


def row_from_document(document: Mapping[str, Any]) -> Row:
    """What was kept as JSON."""
    return Row(**{**document, "run": Run(**document["run"])})


def runs_of(
    part: str, *, rounds: int, jobs: int, size: int, workloads: Sequence[str]
) -> Iterator[Run]:
    """The runs of a part, in the order in which they are measured.

    Configurations, and runs with the probe and without, take turns in a drawn order; the jobs of
    ``noise`` do, with all runs of a job in a row.

    Args:
        part: One of ``PARTS``.
        rounds: Of ``moved`` and ``cost``.
        jobs: Of ``noise``, of each workload, quiet and beside the neighbour.
        size: Runs of each of them.
        workloads: Of ``noise``; the other parts are of the first.
    """
    cases = {MOVED: tuple(CONFIGURATIONS), NOISE: (QUIET, NEIGHBOUR), COST: (WITH, WITHOUT)}[part]
    turns = [(load, case) for load in workloads for case in cases]
    for number in range(1, (jobs if part == NOISE else rounds) + 1):
        if part == NOISE:
            for load, case in random.Random(f"{part}/{number}").sample(turns, len(turns)):
                yield from (Run(part, load, case, number, place) for place in range(1, size + 1))
        else:
            drawn = random.Random(f"{part}/{number}").sample(cases, len(cases))
            yield from (Run(part, workloads[0], c, number, i) for i, c in enumerate(drawn, 1))


def measured(runs: Sequence[Run], settings: Settings) -> Iterator[Row]:
    """Measures them one after the other; the neighbour lives as long as the runs beside it."""
    assemblies: dict[str, Assembly] = {}
    machine = fingerprint(settings.bench_dir)
    with contextlib.ExitStack() as beside:
        before: tuple[object, ...] = ()
        for run in runs:
            if (job := (run.part, run.workload, run.case, run.round)) != before:
                beside.close()
                if run.case == NEIGHBOUR:
                    beside.enter_context(_beside(run.round))
            before = job
            if run.workload not in assemblies:
                assemblies[run.workload] = assemble(specify(workload=run.workload), settings)
            assembly = assemblies[run.workload]
            assert assembly.installed is not None  # the shipped loads are db_bench's
            facts = {name: machine[name] for name in _FACTS}
            where = settings.model_copy(update={"speed_probe": run.case != WITHOUT})
            started = datetime.now(UTC).isoformat(timespec="milliseconds")
            outcome = LocalRunner(assembly.benchmark, where, waiting=print).run(run.configuration)
            yield Row(
                run, outcome.state.value,
                {name: outcome.metrics[name] for name in _KEPT if name in outcome.metrics},
                started, facts | {"rocksdb": assembly.installed.version},
            )  # fmt: skip


@contextlib.contextmanager
def _beside(seed: int) -> Iterator[None]:
    process = subprocess.Popen(tied(sys.executable, neighbour.__file__, str(seed)))
    try:
        yield
    finally:
        process.kill()
        process.wait()
