"""The same job on one real host and on four: `make prove-speedup`.

Hosts are processes with a folder and a lock of their own; the benchmark sleeps, so that they do
not disturb each other. What has been measured is kept in docs/results/speedup.jsonl, and a second
run goes on with the rest; ``--again`` begins anew.
"""

import argparse
import json
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from db.connection.engine import make_engine
from db.jobs.job_store import JobStore
from sampler.machine.machine import fingerprint
from studies import known_truth
from studies.speedup.simulated import HEAD, rows, true_fitness
from tests.support import ROOT
from tests.support.cli.launched import executed
from tests.support.cluster.bench_cluster import BenchCluster, bench_cluster, result_of

RESULTS = ROOT / "docs" / "results" / "speedup.jsonl"
TABLE = RESULTS.with_suffix(".md")
LEAST = 3.8
STRATEGIES = ("random", "genetic")


@dataclass(frozen=True)
class Part:
    """One job."""

    strategy: str
    hosts: int

    @property
    def name(self) -> str:
        """Of the job in the results file."""
        return f"{self.strategy}/{self.hosts}"


class SleepingCluster(BenchCluster):
    """Its benchmark sleeps and then says what the known truth is, with noise."""

    def workload(self) -> Path:
        """Its file."""
        path = self.folder / "workload.toml"
        argv = [sys.executable, "-S", known_truth.__file__, "{configuration}", str(self.seconds)]
        text = f"name = 'known-truth'\n[command]\nargv = {argv}\ntimeout_seconds = 600\n"
        path.write_text(text)
        return path

    def space(self) -> Path:
        """That of the known truth."""
        tables = [
            "\n".join(
                ["[[parameter]]", *(f"{key} = {json.dumps(it)}" for key, it in each.items())]
            )
            for each in known_truth.SPACE["parameter"]
        ]
        path = self.folder / "space.toml"
        path.write_text("\n".join(["name = 'known-truth'", *tables, ""]))
        return path


def measure(part: Part, trials: int, seconds: float) -> dict[str, Any]:
    """Runs the job to its end and sums it up."""
    names = [f"host-{n}" for n in range(part.hosts)]
    with (
        tempfile.TemporaryDirectory(prefix="speedup-") as folder,
        bench_cluster(
            Path(folder), *names, kind=SleepingCluster, ttl=60, launch=executed
        ) as cluster,
    ):
        cluster.seconds = seconds
        began = time.monotonic()
        running = cluster.tune("jobs.db", trials=trials, strategy=part.strategy, seed="1")
        status = running.process.wait()
        wall = time.monotonic() - began
        if status not in (0, 3):
            raise RuntimeError(running.log.read_text()[-2000:])
        return {"part": part.name, "wall_seconds": round(wall, 1)} | summed_up(cluster)


def summed_up(cluster: BenchCluster) -> dict[str, Any]:
    """What the job came to, from its database and result."""
    engine = make_engine(str(cluster.folder / "jobs.db"))
    try:
        trials = JobStore(engine).trials(1)
    finally:
        engine.dispose()
    begun = [t.started_at for t in trials if t.started_at]
    ended = [t.finished_at for t in trials if t.finished_at]
    best = result_of(cluster)["best"]
    configuration = best["configuration"] if isinstance(best, dict) else {}
    return {
        "trials": len(trials),
        "begun_again": sum(t.attempt - 1 for t in trials),
        "hosts": sorted({str(t.host) for t in trials}),
        "seconds": round((max(ended) - min(begun)).total_seconds(), 1),
        "bench_seconds": round(sum(t.metrics["time"] for t in trials), 1),
        "fitness": round(true_fitness(configuration), 1),
    }


def kept() -> dict[str, dict[str, Any]]:
    """What was measured before, by part."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    return {line["part"]: line for line in map(json.loads, text.splitlines())}


def keep(line: dict[str, Any], lock: threading.Lock) -> None:
    """Adds a line to the results file."""
    line = {"at": datetime.now(UTC).isoformat(timespec="seconds"), **line}
    with lock, RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def table(parts: list[Part], found: dict[str, dict[str, Any]], seconds: float) -> str:
    """The page."""
    machine = fingerprint(Path(tempfile.gettempdir()))
    lines = [
        "| strategy | hosts | trials | begun again | job, s | speed-up | whole command, s "
        "| speed-up | true fitness |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for part in parts:
        job, alone = found[part.name], found[Part(part.strategy, 1).name]
        lines.append(
            f"| {part.strategy} | {len(job['hosts'])} | {job['trials']} | {job['begun_again']} "
            f"| {job['seconds']:.0f} | {alone['seconds'] / job['seconds']:.2f} "
            f"| {job['wall_seconds']:.0f} | {alone['wall_seconds'] / job['wall_seconds']:.2f} "
            f"| {job['fitness']:.0f} |"
        )
    date = max(found[part.name]["at"] for part in parts)[:10]
    return "\n".join([
        "# What more hosts give", "",
        f"`make prove-speedup`, {date}, {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['system']}, Python {machine['python']}.", "",
        "## Real hosts", "",
        "Each a process of `rocktune host` with a folder and a lock of its own, one scheduler, "
        f"`rocktune tune`, SQLite. A run sleeps {seconds:g} s for the default, less for what is "
        "better. *Job*: from the first trial's begin to the last one's end. *Whole command*: "
        "start and report, too. *True fitness*: of the configuration that the job recommends, "
        "without noise, against the default's 0.", "", *lines, "", "",
    ])  # fmt: skip


def main() -> int:
    """Measures what is missing and writes the page; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", action="store_true", help="forget what was measured before")
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=5.0, help="of a run of the default")
    parser.add_argument("--seeds", type=int, default=20, help="of each simulated job")
    asked = parser.parse_args()
    if asked.again:
        RESULTS.unlink(missing_ok=True)
    parts = [Part(strategy, hosts) for strategy in STRATEGIES for hosts in (1, 4)]
    lock, failures = threading.Lock(), list[str]()

    def prove(part: Part) -> None:
        try:
            keep(measure(part, asked.trials, asked.seconds), lock)
        except Exception as error:
            failures.append(f"{part.name}: {type(error).__name__}: {error}")

    # Sleepers do not disturb each other: all jobs at once.
    threads = [
        threading.Thread(target=prove, args=(part,)) for part in parts if part.name not in kept()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for failure in failures:
        print(failure, file=sys.stderr)
    if failures:
        return 1
    for strategy in STRATEGIES:
        if f"simulated/{strategy}" not in kept():
            made = rows(strategy, [1, 2, 4, 8, 16], asked.trials, asked.seeds)
            keep({"part": f"simulated/{strategy}", "rows": made}, lock)
    found = kept()
    simulated = [row for each in STRATEGIES for row in found[f"simulated/{each}"]["rows"]]
    text = table(parts, found, asked.seconds) + "\n".join([
        "## Simulated hosts", "",
        f"`studies/speedup/simulated.py`: {asked.trials} trials, {asked.seeds} seeds each, means "
        "with 95% intervals; the same truth and noise, time is simulated.", "", HEAD, *simulated,
        "",
    ])  # fmt: skip
    TABLE.write_text(text, encoding="utf-8")
    print(text)
    slow = [
        part.name for part in parts if part.hosts == 4
        and found[f"{part.strategy}/1"]["seconds"] / found[part.name]["seconds"] < LEAST
    ]  # fmt: skip
    for name in slow:
        print(f"{name}: less than {LEAST} times as fast", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
