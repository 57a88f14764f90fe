"""Tiny real trials, and draws of every shipped space, for the tests beside this file."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from sampler.bench.bench_plan import BenchPlan
from sampler.bench.command_bench import CommandBench
from sampler.bench.db_bench import DbBench
from sampler.bench.installed import InstalledDbBench
from sampler.bench.outcome import EndedProcess, Ending, Outcome, TrialState
from sampler.rocksdb.parameters import Value
from sampler.space.latent import decode, draw
from sampler.space.space import Configuration, Space, default_values, memory_bytes
from sampler.space.space_file import load_space
from sampler.workload.workload import Command, Workload
from tests.support import DATA

OUTPUTS = DATA / "db_bench_outputs"
TINY = Workload(name="tiny", num=2_000, settle="none", scale=64, timeout_seconds=60)


def ended(**changed: object) -> EndedProcess:
    """A process that ended well after 2 s, or otherwise."""
    usual = {
        "ending": Ending.EXIT, "status": 0, "began": 100.0, "wall_seconds": 2.0,
        "cpu_seconds": 1.0, "peak_rss": 0, "device_bytes": 0,
    }  # fmt: skip
    return EndedProcess(**{**usual, **changed})  # type: ignore[arg-type]


def tiny_plan(installed: InstalledDbBench, space: str = "default", **load: object) -> BenchPlan:
    library = installed.library_defaults()
    around = load_space(space).at_baseline(library)
    return BenchPlan(replace(TINY, **load), around, library)  # type: ignore[arg-type]


def drawn(space: Space, count: int, *, seed: int = 11) -> Iterable[dict[str, Value]]:
    """Configurations of a Latin hypercube, within the memory that a job would keep to."""
    order = space.decided_order
    memory = memory_bytes(space.context) if space.memory_budget else None
    for index in range(count):
        point = draw("lhs", index, n=count, dimensions=len(order), seed=seed)
        coordinates = dict(zip(order, point.tolist(), strict=True))
        yield decode(space, coordinates, memory=memory)


@dataclass(frozen=True)
class Kept:
    """What a run left, before its folder was removed."""

    ended: EndedProcess
    stdout: str
    stderr: str
    log: str
    live_files: dict[str, int]
    outcome: Outcome = field(default_factory=lambda: Outcome(state=TrialState.RUNNING))


# What the fixture `measure` is: it runs a configuration and keeps all that was left.
Measure = Callable[..., Kept]


@dataclass(frozen=True)
class Keeping(DbBench):
    """The real benchmark, which also keeps what the run left."""

    kept: list[Kept] = field(default_factory=list)

    def harvest(self, configuration: Configuration, folder: Path, ended: EndedProcess) -> Outcome:
        database = folder / "db"
        files = [path for kind in ("*.sst", "*.blob") for path in database.glob(kind)]
        log = database / "LOG"
        self.kept.append(
            Kept(
                ended=ended,
                stdout=(folder / "stdout").read_text(),
                stderr=(folder / "stderr").read_text(),
                log=log.read_text() if log.exists() else "",
                live_files={path.name: path.stat().st_size for path in files},
            )
        )
        return super().harvest(configuration, folder, ended)


def at_baseline_of(installed: InstalledDbBench, space: str) -> Space:
    """A shipped space at a build's defaults, without what the build lacks: as a job has it."""
    whole = load_space(space).at_baseline(installed.library_defaults())
    return whole.without(each.name for each in whole.parameters if not installed.knows(each))


def command_bench(
    *argv: str, timeout: float = 30, scale: int = 1, space: str = "default"
) -> CommandBench:
    """A benchmark of one's own command."""
    command = Command(argv=argv, timeout_seconds=timeout)
    workload = Workload(name="own", command=command, settle="none", scale=scale)
    return CommandBench(command, BenchPlan(workload, load_space(space), default_values("library")))
