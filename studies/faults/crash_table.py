"""Kills the service 55 times on each database and counts what was lost: `make prove-crash`.

On SQLite `rocktune serve` is killed; on PostgreSQL the server, the worker or both. What has been
measured is kept in docs/results/crash.jsonl, and a second run goes on with the rest; ``--again``
begins anew.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy.engine import URL

from studies.study import made_by
from tests.support import ROOT
from tests.support.jobs.crash_bench import NAME, SPACE, RecordedBench
from tests.support.jobs.crash_job import CrashedJob, Tally
from tests.support.jobs.service_desk import ServiceDesk

RESULTS = ROOT / "docs" / "results" / "crash.jsonl"
TABLE = RESULTS.with_suffix(".md")
DATABASES = ("sqlite", "postgresql")
ENDS_WITHIN = 300.0


@dataclass(frozen=True)
class Part:
    """One job: on a database, with a benchmark, killed so often."""

    database: str
    benchmark: str
    kills: int
    trials: int

    @property
    def name(self) -> str:
        """Of the job in the results file."""
        return f"{self.database}/{self.benchmark}"


class Results:
    """The lines of the results file, by several threads."""

    def __init__(self, path: Path, *, again: bool) -> None:
        self._path, self._lock = path, threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        if again:
            path.unlink(missing_ok=True)
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        self._lines = [json.loads(line) for line in text.splitlines()]

    def add(self, line: dict[str, Any]) -> None:
        """Keeps a line, with the time."""
        line = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **line}
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            self._lines.append(line)

    def whole(self, part: str) -> dict[str, Any] | None:
        """The count of a part that was measured to its end."""
        found = [line for line in self._lines if line["part"] == part and "tally" in line]
        return found[-1] if found else None


@contextmanager
def database(kind: str, folder: Path) -> Iterator[str]:
    """The URL of an empty database; a server's is removed afterwards."""
    if kind == "sqlite":
        yield str(folder / "rocktune.db")
        return
    host, user, password = (os.environ[f"PG{name}"] for name in ("HOST", "USER", "PASSWORD"))
    port = int(os.environ["PGPORT"])
    name = f"rocktune_{folder.name}".lower()
    with psycopg.connect(
        host=host, user=user, password=password, port=port, dbname="postgres", autocommit=True
    ) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        url = URL.create("postgresql", user, password, host, port, name)
        try:
            yield url.render_as_string(hide_password=False)
        finally:
            drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            connection.execute(drop)


def prove(part: Part, results: Results) -> None:
    """Runs a part to its end and keeps its count."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="crash-") as temporary:
        folder = Path(temporary)
        with database(part.database, folder) as url:
            tally = killed_often(part, ServiceDesk(folder, url), results)
    seconds = round(time.monotonic() - began, 1)
    results.add({"part": part.name, "seconds": seconds, "tally": asdict(tally)})


def killed_often(part: Part, desk: ServiceDesk, results: Results) -> Tally:
    """Kills the service as often as the part says, at random moments."""
    chance = random.Random(part.name)
    bench: RecordedBench | None = None
    body: dict[str, Any] = {"workload": "load-quick", "trials": part.trials}
    if part.benchmark == "command":
        bench = RecordedBench(desk.folder, desk.workloads)
        bench.takes(150, 300)
        body = {"workload": NAME, "space": SPACE, "objective": "waf", "trials": part.trials}
    crashed = CrashedJob(
        desk, body, split=part.database == "postgresql", chance=chance, bench=bench,
        told=lambda line: results.add({"part": part.name, **line}),
    )  # fmt: skip
    try:
        for _ in range(part.kills):
            if not bench:
                crashed.kill(chance.uniform(0, 2), progress=chance.randint(1, 3))
            elif chance.random() < 0.5:
                crashed.kill(chance.uniform(0, 6), progress=0)  # while it starts, or recovers
            else:
                crashed.kill(chance.uniform(0, 0.3), progress=chance.randint(1, 6))
        if bench:
            bench.takes(50, 100)
        return crashed.finish(seconds=ENDS_WITHIN)
    finally:
        crashed.close()


def side(parts: list[Part], results: Results, failures: list[str]) -> None:
    """One database; the other is at work beside it, with a bench and a lock of its own."""
    for part in parts:
        try:
            if results.whole(part.name) is None:
                prove(part, results)
        except Exception as error:
            failures.append(f"{part.name}: {type(error).__name__}: {error}")


def table(parts: list[Part], results: Results) -> str:
    """The page."""
    days = [line["at"][:10] for part in parts if (line := results.whole(part.name))]
    lines = [
        "# Killed with -9 in the middle of a job",
        "",
        f"{made_by('make prove-crash', days)}.",
        "",
        "One job each, over HTTP. On SQLite `rocktune serve` is killed; on PostgreSQL the server, "
        "the worker or both. What was killed is started again at once.",
        "",
        "| database | benchmark | kills | trials | lost | duplicates | orphans | wrong end "
        "| in flight, repeated | repeated twice for one kill | seconds |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for part in parts:
        line = results.whole(part.name)
        if line is None:
            lines.append(f"| {part.database} | {part.benchmark} | not measured |")
            continue
        t = line["tally"]
        lines.append(
            f"| {part.database} | {part.benchmark} | {t['kills']} | {t['trials']} | {t['lost']} "
            f"| {t['duplicates']} | {t['orphans']} | {t['wrong_end']} | {t['repeated']} "
            f"| {t['repeated_too_often']} | {line['seconds']:.0f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measures what is missing and writes the page; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", action="store_true", help="forget what was measured before")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--kills-with-db-bench", type=int, default=5)
    asked = parser.parse_args()
    results = Results(RESULTS, again=asked.again)
    parts = [
        Part(database, benchmark, kills, trials)
        for benchmark, kills, trials in (
            ("command", asked.kills, 8 * asked.kills),
            ("db_bench", asked.kills_with_db_bench, 13),
        )
        for database in DATABASES
    ]
    failures: list[str] = []
    threads = [
        threading.Thread(
            target=side,
            args=([part for part in parts if part.database == name], results, failures),
        )
        for name in DATABASES
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = table(parts, results)
    TABLE.write_text(text, encoding="utf-8")
    print(text)
    tallies = [Tally(**line["tally"]) for part in parts if (line := results.whole(part.name))]
    for tally in tallies:
        failures += tally.notes if tally.wrong() else []
        if tally.wrong():
            failures.append(f"{tally.wrong()} things went wrong")
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures or len(tallies) < len(parts) else 0


if __name__ == "__main__":
    sys.exit(main())
