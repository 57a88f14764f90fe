"""How long runs wait when their work has ended, and whether waiting more would change a figure.

Run with ``make prove-ending``, alone on the machine. It can be stopped at any time and goes on
when it is called again; what is kept in docs/results/run_ending.jsonl is not measured again.
``--page`` writes the page from what is kept, and measures nothing.

Each configuration runs twice in each round, in an order of its own: as the product does it
(``rest``), and with db_bench's own wait after the tree was seen at rest (``waited``). Every build
that has the whole space runs the same configurations.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import random
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jobs.execution.assembly import assemble
from jobs.specification.named_files import specify
from optimizer.confirmation.paired_change import change
from sampler.bench.rocksdb_log import work_events
from sampler.bench.run_ending import read_text
from sampler.common.errors import InputError
from sampler.machine.machine import fingerprint
from sampler.runner.benchmark import Benchmark
from sampler.runner.outcome import Outcome, TrialState
from sampler.runner.process import REST_SECONDS, EndedProcess
from sampler.runner.runner import LocalRunner
from sampler.runner.settings import load_settings
from sampler.space.space import Configuration
from studies.arguments import days_words, make_command, names
from studies.json_lines import append_line, read_lines
from studies.wrapped_benchmark import WrappedBenchmark

WORKLOADS = ("load-quick", "mixed-quick", "read-quick")
WAYS = ("before", "rest", "waited")
METRICS = ("waf", "sa", "time", "rate")
_MACHINE = ("cpu", "cores", "memory_bytes", "file_system", "system")
_HEAD = f"""# When a run ends

`rest` is how a run ends: the LOG tells of no flush or compaction under way, and no thread of
`db_bench` has run for {REST_SECONDS} s. In a `waited` run `db_bench` then runs its own
`waitforcompaction`, too, and prints its figures again. `before` is how Rocktune ended a run until
2026-11-26: it waited until RocksDB had written its counters into the LOG. About half of the
configurations are the default, the others are drawn. Times are medians. The ways ran different
mixes of configurations, so their `work` cannot be compared from row to row, but in the pairs
below. Some `rest` runs of load-quick and mixed-quick had commands of a second beside them."""


@dataclass(frozen=True)
class Row:
    """One run.

    Attributes:
        idle_seconds: Of the times after the load in which nothing was under way until something
            began, the longest; None: there was none.
        lost: How often it was made again, for RocksDB worked after it seemed at rest.
    """

    workload: str
    round: int
    way: str
    state: str
    metrics: Mapping[str, float]
    idle_seconds: float | None
    lost: int
    date: str
    machine: Mapping[str, Any]

    @property
    def key(self) -> tuple[str, str, int, str]:
        """What a run is: measured once."""
        return self.workload, self.rocksdb, self.round, self.way

    @property
    def rocksdb(self) -> str:
        """The version of what was measured."""
        return str(self.machine["rocksdb"])


class Watched(WrappedBenchmark):
    """Notes the longest idle time between two works, and may let db_bench wait on."""

    idle_seconds: float | None = None
    lost = 0

    def __init__(self, benchmark: Benchmark, *, waits: bool) -> None:
        """Around the product's own."""
        super().__init__(benchmark)
        self._waits = waits

    def prepare(self, configuration: Configuration, folder: Path) -> list[str]:
        """With db_bench's own wait before the last figures."""
        argv = super().prepare(configuration, folder)
        last = "waitforcompaction,stats,sstables" if self._waits else "stats,sstables"
        return [argument.replace("stats,sstables", last) for argument in argv]

    def harvest(
        self, configuration: Configuration, folder: Path, ended: EndedProcess, began: float
    ) -> Outcome:
        """The product's own outcome."""
        self.idle_seconds = idle_seconds(read_text(folder / "db" / "LOG"))
        outcome = super().harvest(configuration, folder, ended, began)
        self.lost += outcome.state is TrialState.LOST
        return outcome


def idle_seconds(log: str) -> float | None:
    """The longest time after the load in which nothing was under way until something began."""
    flush = log.rfind("Manual flush start")
    before = [begins for _, begins, _ in work_events(log[: max(flush, 0)])]
    working, idle_since, longest = 2 * sum(before) - len(before), None, None
    for moment, begins, _ in work_events(log[max(flush, 0) :]):
        if begins and working <= 0 and idle_since is not None:
            longest = max(longest or 0.0, moment - idle_since)
        working += 1 if begins else -1
        idle_since = moment if working <= 0 else None
    return longest


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures what is missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    kept = given.docs / "results" / "run_ending.jsonl"
    try:
        rows = [Row(**row) for row in read_lines(kept)]
        if not given.page:
            for workload, build in itertools.product(given.workloads, given.builds):
                rows += _measure(workload, build, given, rows, kept)
        if not rows:
            raise InputError(str(kept), "holds no run yet: make prove-ending measures them")
    except InputError as error:
        sys.exit(str(error))
    out = given.docs / "results" / "run_ending.md"
    out.write_text(page(rows, make_command("prove-ending", arguments)), encoding="utf-8")
    print(f"{out} tells of {len(rows)} runs")
    return 0


def _measure(
    workload: str, build: str, given: argparse.Namespace, known: Sequence[Row], kept: Path
) -> list[Row]:
    """The runs of a workload with a build that are missing, each kept as it ends."""
    settings = load_settings()
    assembly = assemble(specify(workload=workload, db_bench=build), settings)
    assert assembly.installed is not None  # the shipped loads are db_bench's
    problem, machine = assembly.problem, fingerprint(settings.bench_dir)
    facts: dict[str, Any] = {name: machine[name] for name in _MACHINE}
    facts["rocksdb"] = assembly.installed.version
    there, made = {row.key for row in known}, []
    for number in range(1, given.rounds + 1):
        rng = random.Random(f"{workload}/{number}")
        point = {name: rng.random() for name in problem.space.names}
        drawn = problem.configuration(point)
        configuration: Configuration = drawn if number % 2 else {}
        for way in rng.sample(given.ways, len(given.ways)):
            if (workload, facts["rocksdb"], number, way) in there:
                continue
            benchmark = Watched(assembly.benchmark, waits=way == "waited")
            outcome = LocalRunner(benchmark, settings, waiting=print).run(configuration)
            row = Row(
                workload, number, way, outcome.state.value, dict(outcome.metrics),
                benchmark.idle_seconds, benchmark.lost, f"{datetime.now(UTC):%Y-%m-%d}", facts,
            )  # fmt: skip
            append_line(kept, dataclasses.asdict(row))
            made.append(row)
            print(f"{workload} {build} {number} {way}: {row.state}", flush=True)
    return made


def page(rows: Sequence[Row], command: str) -> str:
    """The page, of one run at least, which ``command`` measured."""
    machine, failed = rows[-1].machine, sum(row.state != "done" for row in rows)
    where = (
        f"`{command}`; {len(rows)} runs, {failed} of them not done; {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['file_system']}, {machine['system']}; "
        f"{days_words(row.date for row in rows)}."
    )
    same = [
        f"`{way}` against `rest`, in turn, with 95% intervals of the mean ratio:\n\n"
        + "\n".join(table)
        for way in ("waited", "before")
        if len(table := [*_same(rows, way)]) > 2
    ]
    parts = [_HEAD, where, "\n".join(_waits(rows)), *same, "\n".join(_after(rows))]
    return "\n\n".join(parts) + "\n"


def _waits(rows: Sequence[Row]) -> Iterator[str]:
    yield "| workload | RocksDB | way | runs | wall, s | work, s | wall - work, s | 10% to 90% |"
    yield "|---|---|---|--:|--:|--:|--:|--:|"
    for workload, build, way in itertools.product(WORKLOADS, _builds(rows), WAYS):
        here = [
            row for row in rows if (row.workload, row.rocksdb, row.way) == (workload, build, way)
        ]
        done = [row.metrics for row in here if row.state == "done"]
        if len(done) < 2:
            continue
        waited = [each["wall_seconds"] - each["time"] for each in done]
        tenths = statistics.quantiles(waited, n=10, method="inclusive")
        wall, work = (
            statistics.median(e[name] for e in done) for name in ("wall_seconds", "time")
        )
        yield (
            f"| {workload} | {build} | {way} | {len(done)} | {wall:.2f} | {work:.2f} "
            f"| {statistics.median(waited):.2f} | {tenths[0]:.2f} to {tenths[-1]:.2f} |"
        )


def _same(rows: Sequence[Row], other: str) -> Iterator[str]:
    yield "| workload | RocksDB | pairs | " + " | ".join(METRICS) + " |"
    yield "|---|---|--:|" + "--:|" * len(METRICS)
    done = {row.key: row.metrics for row in rows if row.state == "done"}
    for workload, build in itertools.product(WORKLOADS, _builds(rows)):
        both = [
            (metrics, done[workload, build, number, other])
            for (load, version, number, way), metrics in done.items()
            if (load, version, way) == (workload, build, "rest")
            and (workload, build, number, other) in done
        ]
        if both:
            cells = [
                _ratio([(a[name], b[name]) for a, b in both if name in a]) for name in METRICS
            ]
            yield f"| {workload} | {build} | {len(both)} | " + " | ".join(cells) + " |"


def _ratio(pairs: Sequence[tuple[float, float]]) -> str:
    if len(pairs) < 2:
        return "-"
    found = change(pairs)
    return f"{found.percent:+.1f}% [{found.low:+.1f}, {found.high:+.1f}]"


def _builds(rows: Sequence[Row]) -> list[str]:
    return sorted({row.rocksdb for row in rows}, key=lambda text: [*map(int, text.split("."))])


def _after(rows: Sequence[Row]) -> Iterator[str]:
    done = [row for row in rows if row.state == "done"]
    waited, rested = ([row for row in done if row.way == way] for way in ("waited", "rest"))
    lost, closed = (sum(row.lost > 0 for row in ways) for ways in (waited, rested))
    yield (
        f"RocksDB worked on after it had seemed at rest in {lost} of {len(waited)} `waited` runs, "
        f"and while it closed in {closed} of {len(rested)} `rest` runs."
    )
    idle = [row.idle_seconds for row in rows if row.idle_seconds is not None]
    if idle:
        middle, most = 1000 * statistics.median(idle), 1000 * max(idle)
        yield (
            "The longest pause between two background jobs after the load, in "
            f"{len(idle)} runs that had one: {middle:.1f} ms in the median, {most:.1f} ms at most."
        )


def _ways(text: str) -> tuple[str, ...]:
    found = names(text)
    if not set(found) <= set(WAYS[1:]):
        raise argparse.ArgumentTypeError(f"{text!r} is not of {', '.join(WAYS[1:])}")
    return tuple(found)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="When runs end, and what waiting would change.")
    parser.add_argument("--rounds", type=int, default=100, help="runs of each workload and way")
    parser.add_argument("--workloads", type=names, default=WORKLOADS, help="of the shipped ones")
    parser.add_argument(
        "--builds", type=names, default=("default",), help="names; the one on PATH"
    )
    parser.add_argument("--ways", type=_ways, default=WAYS[1:], help="rest,waited, or one of them")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="receives page and runs")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
