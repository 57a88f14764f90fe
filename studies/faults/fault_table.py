"""Strikes a cluster with each fault ten times and counts what went wrong: `make prove-faults`.

Four bench hosts, each in a network namespace of its own with a disk of its own, TLS, PostgreSQL.
Needs root and iproute2. What has been measured is kept in docs/results/faults.jsonl, and a second
run goes on with the rest; ``--again`` begins anew, alone with those that ``--only`` names.
"""

import argparse
import platform
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from sqlalchemy import Engine

from db.connection.engine import make_engine
from studies.faults.cancelled_jobs import CancelledJobs
from studies.faults.crash_table import Results
from studies.faults.fault_cluster import (
    TTL_SECONDS,
    FaultCluster,
    fault_cluster,
    require_programs,
)
from studies.faults.fault_kinds import FAULTS, Fault
from studies.faults.fault_tally import WRONG, Tally
from studies.faults.struck_job import StruckJob, Told
from studies.study import made_by
from tests.support import ROOT
from tests.support.cluster.netns_hosts import why_impossible

RESULTS = ROOT / "docs" / "results" / "faults.jsonl"
TABLE = RESULTS.with_suffix(".md")
SMALL_DISK, LOAD_DISK = 96 * 2**20, 1536 * 2**20
ENDS_WITHIN = 900.0
CANCELLED, CANCELLED_DB_BENCH = "job-cancelled", "job-cancelled-db-bench"


@dataclass(frozen=True)
class Part:
    """One kind of fault, so often."""

    name: str
    title: str
    times: int
    fault: Fault | None = None


def parts_of(times: int) -> list[Part]:
    """Every kind of fault and of cancel, ``times`` each."""
    struck = [Part(each.name, each.title, times, each) for each in FAULTS]
    return [
        *struck,
        Part(CANCELLED, "the job cancelled", times),
        Part(CANCELLED_DB_BENCH, "the job cancelled, real `db_bench`", times),
    ]


def prove(part: Part, told: Told) -> Tally:
    """Strikes a fresh cluster with one kind of fault."""
    disk = LOAD_DISK if part.name == CANCELLED_DB_BENCH else SMALL_DISK
    with (
        tempfile.TemporaryDirectory(prefix="faults-") as temporary,
        fault_cluster(Path(temporary), disk_bytes=disk) as cluster,
    ):
        engine = make_engine(cluster.server.url)
        try:
            return struck_often(part, cluster, engine, told)
        finally:
            engine.dispose()


def struck_often(part: Part, cluster: FaultCluster, engine: Engine, told: Told) -> Tally:
    """Strikes as often as the part says, and counts."""
    if part.fault is None:
        with_db_bench = part.name == CANCELLED_DB_BENCH
        cancelled = CancelledJobs(cluster, engine, told, with_db_bench=with_db_bench)
        for number in range(part.times):
            cancelled.cancel_one(Random(f"{part.name}/{number}"))
        return cancelled.finish()
    job = StruckJob(cluster, engine, part.fault, part.times, told)
    for number in range(part.times):
        job.strike(Random(f"{part.name}/{number}"))
    return job.finish(seconds=ENDS_WITHIN)


def measured(part: Part, results: Results) -> dict[str, Any] | None:
    """The line of a part that was struck often enough, to its end."""
    line = results.whole(part.name)
    return line if line and line["tally"]["faults"] >= part.times else None


def table(parts: list[Part], results: Results) -> str:
    """The page."""
    days = [line["at"][:10] for part in parts if (line := measured(part, results))]
    lines = [
        "# A cluster struck by faults",
        "",
        f"{made_by('make prove-faults', days)}, Linux {platform.release()}.",
        "",
        "Four bench hosts, each with a network namespace, a disk and a lock of its own; TLS; "
        f"PostgreSQL; a silent host is dead after {TTL_SECONDS:.0f} s. One job for each kind of "
        "fault, one for each cancel. A host is cut off or hangs for 0.2 to 2.5 times that long, a "
        "disk is full for 1 to 6 s, what was killed is started again after 0 to 3 s; when and "
        "which host is drawn. The benchmark is a command that leaves a process behind and keeps a "
        "record of its runs, but for the last row.",
        "",
        "`make prove-faults` ends with 1 when one of the first six counts is not 0. *Unexplained* "
        "are runs begun again beyond what each fault may cost: one for that of a host, four for "
        "one of the scheduler, none for the others. *Slow* are cancels after which something of "
        "the job ran for more than 2 s.",
        "",
        "| fault | lost | duplicated | orphans | unfinished | unexplained | slow | times | trials "
        "| runs again | slowest cancel (s) | seconds |",
        "|---|" + "--:|" * 11,
    ]
    for part in parts:
        line = measured(part, results)
        if line is None:
            lines.append(f"| {part.title} | not measured |" + " |" * 10)
            continue
        t = line["tally"]
        wrong = " | ".join(str(t[each]) for each in WRONG)
        slowest = "" if t["slowest_cancel"] is None else f"{t['slowest_cancel']:.2f}"
        lines.append(
            f"| {part.title} | {wrong} | {t['faults']} | {t['trials']} | {t['again']} "
            f"| {slowest} | {line['seconds']:.0f} |"
        )
    return "\n".join(lines) + "\n"


def asked_for() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [part.name for part in parts_of(1)]
    parser.add_argument("--times", type=int, default=10, help="how often each fault strikes")
    parser.add_argument("--again", action="store_true", help="forget what was measured before")
    parser.add_argument("--only", nargs="+", choices=names, metavar="FAULT", default=names,
                        help=f"these alone: {', '.join(names)}")  # fmt: skip
    asked = parser.parse_args()
    if asked.times < 1:
        parser.error("--times: give 1 or more")
    return asked


def main() -> int:
    """Measures what is missing and writes the page; the exit status."""
    asked = asked_for()
    if reason := why_impossible():
        print(f"fault_table: {reason}", file=sys.stderr)
        return 2
    require_programs()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # and clean up
    results, parts = Results(RESULTS, again=False), parts_of(asked.times)
    failures: list[str] = []
    for part in parts:
        known = measured(part, results)
        if part.name not in asked.only or (known and not asked.again):
            continue
        began = time.monotonic()

        def told(line: dict[str, object], part: Part = part, began: float = began) -> None:
            print(f"{part.name} {time.monotonic() - began:6.1f} s", line, flush=True)
            results.add({"part": part.name, **line})

        try:
            tally = prove(part, told)
        except Exception as error:
            failures.append(f"{part.name}: {type(error).__name__}: {error}")
            print(failures[-1], file=sys.stderr)
            continue
        seconds = round(time.monotonic() - began, 1)
        results.add({"part": part.name, "seconds": seconds, "tally": tally.document()})
        TABLE.write_text(table(parts, results), encoding="utf-8")
    text = table(parts, results)
    TABLE.write_text(text, encoding="utf-8")
    print(text)
    for part in parts:
        line = measured(part, results)
        if line is None:
            failures.append(f"{part.name}: not measured")
        elif (tally := Tally(**line["tally"])).wrong():
            failures += [f"{part.name}: {note}" for note in tally.notes]
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
