"""A job of 10,000 trials, then 24 nights, in one service: is it at the end as it was at first?

Run with ``make prove-endurance ARGS="--trials 10000 --nights 24"``, alone on the machine: ten
minutes. The benchmark is a command that ends at once. Ends with 1 where something grows.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from studies.study import append_line, made_by, read_lines
from tests.support.jobs.service_desk import ServiceDesk, wait_until

RAW = Path("docs/results/endurance.jsonl")
JOB, NIGHTS = "job", "nights"
_SCRIPT = """\
n=$(( ($$ * 1103515245 + 12345) / 65536 % 90 + 10 ))
printf '{"waf": 2.%d, "sa": 1.2%d, "time": 3.1%d, "rate": 10%d}\\n' $n $n $n $n
"""
_WORKLOAD = f"""\
name = "instant"
[command]
argv = ["/bin/sh", "-c", '''
{_SCRIPT}''']
timeout_seconds = 60
"""
_NIGHTLY = {
    "name": "nightly",
    "cron": "0 3 1 1 *",
    "time_zone": "UTC",
    "batch": {"workloads": ["instant"], "spaces": ["default"], "objective": "waf", "trials": 24},
}
_HOURS = 3600.0
_FIRST, _LOOKS = 24, 4000
# How much more at the end than after the first fifth counts as growing.
# What is kept for ever, the database, may not grow faster than it did.
_MOST_ADDED = 1.25
_MOST = {"ms": 1.3, "rss": 1.25, "handles": 1.25, "threads": 1.25, "folders": 1.0}


@dataclass(frozen=True)
class Sample:
    """The service at one moment.

    Attributes:
        part: ``job`` or ``nights``.
        done: Trials, or nights, that have ended.
        ms: Wall milliseconds of each since the sample before.
        rss: Bytes of memory of its process.
        handles: Open descriptors, the median of some looks.
        threads: Of its process.
        folders: Entries in the bench folder.
        database: Bytes of the database's files.
    """

    part: str
    done: int
    ms: float
    rss: int
    handles: int
    threads: int
    folders: int
    database: int


def main() -> int:
    """Measures, and writes the page."""
    given = _parser().parse_args()
    if not given.page:
        RAW.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(prefix="rocktune-endurance-") as folder:
            for sample in _samples(Path(folder), given.trials, given.nights, given.strategy):
                row = asdict(sample)
                append_line(RAW, {**row, "at": datetime.now(UTC).isoformat(timespec="seconds")})
                sys.stdout.write(f"{row}\n")
                sys.stdout.flush()
    rows = read_lines(RAW)
    if not rows:
        sys.exit(f"{RAW} holds nothing yet: make prove-endurance measures")
    grown = _grown(rows)
    said = f"--trials {given.trials} --nights {given.nights} --strategy {given.strategy}"
    sys.stdout.write(_write_page(RAW.with_suffix(".md"), said, rows, grown) + "\n")
    return 1 if grown else 0


def _samples(folder: Path, trials: int, nights: int, strategy: str) -> Iterator[Sample]:
    desk = ServiceDesk(folder, str(folder / "rocktune.db"))
    desk.workloads.mkdir()
    (desk.workloads / "instant.toml").write_text(_WORKLOAD)
    with desk.running("serve", "--port", "0", "--migrate") as service:
        address, pid = service.address(), service.process.pid
        jobs = f"{address}/v1/jobs"
        body = {"workload": "instant", "space": "default", "objective": "waf",
                "strategy": strategy}  # fmt: skip
        # What a service loads once, with the first job that it ends, is no growth.
        _to_its_end(desk, f"{jobs}/{desk.call('POST', jobs, {**body, 'trials': _FIRST})['id']}")
        job = f"{jobs}/{desk.call('POST', jobs, {**body, 'trials': trials})['id']}"
        began = time.monotonic()
        for tenth in range(1, 11):
            wanted = trials * tenth // 10
            reached = partial(_at_least, desk, job, wanted)
            wait_until(reached, seconds=_HOURS, what=f"{wanted} trials")
            now = time.monotonic()
            yield _sample(desk, pid, JOB, wanted, 1000 * (now - began) / (trials / 10))
            began = now
        _to_its_end(desk, job)
        desk.call("POST", f"{address}/v1/schedules", _NIGHTLY)
        for night in range(1, nights + 1):
            began = time.monotonic()
            batch = desk.call("POST", f"{address}/v1/schedules/nightly/run", {})["id"]
            done = partial(_is_done, desk, f"{address}/v1/batches/{batch}")
            wait_until(done, seconds=600, what=f"night {night}")
            yield _sample(desk, pid, NIGHTS, night, 1000 * (time.monotonic() - began))


def _to_its_end(desk: ServiceDesk, job: str) -> None:
    wait_until(lambda: desk.call("GET", job)["state"] == "done", seconds=_HOURS, what="its end")


def _ended(desk: ServiceDesk, job: str) -> int:
    found = desk.call("GET", job)
    return int(found["done"]) + int(found["failed"])


def _sample(desk: ServiceDesk, pid: int, part: str, done: int, ms: float) -> Sample:
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    files = Path(desk.url).parent.glob(f"{Path(desk.url).name}*")
    # A trial opens and closes some: looked at all the while that some trials take.
    handles = [sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()) for _ in range(_LOOKS)]
    return Sample(
        part=part, done=done, ms=round(ms, 2),
        rss=int(status["VmRSS"].split()[0]) * 1024,
        handles=round(median(handles)),
        threads=int(status["Threads"]),
        folders=len(list(desk.bench.iterdir())) if desk.bench.exists() else 0,
        database=sum(file.stat().st_size for file in files),
    )  # fmt: skip


def _grown(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What is larger at the end of a part than a fifth into it, by more than it may be."""
    found = []
    for part in (JOB, NIGHTS):
        own = [row for row in rows if row["part"] == part]
        if len(own) < 5:
            continue
        early, late = own[: max(2, len(own) // 5)], own[-max(2, len(own) // 5) :]
        for name, most in _MOST.items():
            before, after = (max(row[name] for row in each) for each in (early, late))
            # Between two trials the folder of one may be there.
            if after > max(before * most, before + (1 if name == "folders" else 2)):
                found.append(f"{part}: {name} {before:,} at first, {after:,} at the end")
        half = len(own) // 2
        before, after = _adds(own[: half + 1], "database"), _adds(own[half:], "database")
        if after > before * _MOST_ADDED:
            found.append(
                f"{part}: each adds {before:,.0f} bytes to the database, then {after:,.0f}"
            )
    return found


def _at_least(desk: ServiceDesk, job: str, trials: int) -> bool:
    return _ended(desk, job) >= trials


def _is_done(desk: ServiceDesk, batch: str) -> bool:
    return bool(desk.call("GET", batch)["state"] == "done")


def _adds(rows: Sequence[dict[str, Any]], name: str) -> float:
    """What one more trial, or night, adds between the first sample and the last."""
    added: float = rows[-1][name] - rows[0][name]
    return added / float(rows[-1]["done"] - rows[0]["done"])


def _write_page(out: Path, said: str, rows: Sequence[dict[str, Any]], grown: Sequence[str]) -> str:
    lines = [
        "# Is a service after 10,000 trials and 24 nights as it was at first?",
        "",
        made_by(f'make prove-endurance ARGS="{said}"', [rows[-1]["at"][:10]]) + ", SQLite.",
        "",
        "One process (`rocktune serve`) runs a job of 24 trials over HTTP, so that what is loaded "
        "once is there, then a long one, then a schedule again and again: each night is a job of "
        "24 trials. The benchmark is a command that ends at once. The command ends with 1 where "
        "handles, threads or memory at the end are more than 25% (time 30%), and more than 2, "
        "above those of the first fifth, where more than the folder of the trial that runs is "
        "there, or where each trial or night adds over 25% more to the database in the second "
        "half than in the first.",
        "",
        "| | ended | ms each | memory, MiB | handles | threads | bench folder | database, MiB |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        if row["part"] == JOB or row["done"] % 3 == 0:
            cells = [
                "trials" if row["part"] == JOB else "nights", f"{row['done']:,}",
                f"{row['ms']:,.1f}", f"{row['rss'] / 2**20:,.0f}", f"{row['handles']}",
                f"{row['threads']}", f"{row['folders']}", f"{row['database'] / 2**20:,.1f}",
            ]  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *(f"**{each}**" for each in grown)] if grown else ["", "Nothing grows by more."]
    for part, one in ((JOB, "trial of a job"), (NIGHTS, "night")):
        own = [row for row in rows if row["part"] == part]
        if len(own) > 1:
            kept, held = (_adds(own, name) / 1024 for name in ("database", "rss"))
            lines += [
                "",
                f"A {one} adds {kept:,.1f} KiB to the database and {held:,.1f} KiB to the memory "
                "of the process, from the first sample to the last.",
            ]
    out.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return f"{out}: {'; '.join(grown) or 'nothing grows'}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="What grows in a service that runs for long.")
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--nights", type=int, default=24)
    parser.add_argument("--strategy", default="random")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
