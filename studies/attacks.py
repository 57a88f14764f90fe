"""Attacks a service on loopback, and measures what it costs others: `make prove-attacks`.

Each attack runs in a process of its own against a new `rocktune serve` with its own SQLite file.
Beside it `/healthz` is asked ten times a second, and the processor seconds of the server are read
from `/proc`. `--source DIR --label before` attacks the sources of another folder. Rows go to
docs/results/attacks.jsonl, one per attack and label, and the page is made of them.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from textwrap import fill
from typing import Any

from db.access.tokens import Role
from studies.study import append_line, make_command, names, read_lines
from tests.support import ROOT

PAGE = ROOT / "docs" / "results" / "attacks.md"
ROWS = PAGE.with_suffix(".jsonl")
MACHINE = "2 cores (Intel Xeon, virtual, 23 GiB), Debian 12, Python 3.11, SQLite"
BODY = b'{"a":[' + b",".join([b"1"] * 2_000_000) + b"]}"
JOB = {
    "workload": "external",
    "trials": 60,
    "objective": {"name": "fast", "metric": [{"name": "rate", "direction": "max"}]},
    "space": {
        "name": "mine",
        "parameter": [
            {
                "name": "batch",
                "type": "int",
                "low": 1,
                "high": 1_000_000,
                "log": True,
                "default": 8,
            }
        ],
    },
}


@dataclass(frozen=True)
class Target:
    """A server under attack."""

    port: int
    pid: int
    tokens: dict[str, str]  # by role
    job: int  # a job that is running, and has 1,601 trials of 9 kB

    def ask(
        self, method: str, path: str, body: Any = None, *, role: str = "admin", **headers: str
    ) -> tuple[int, bytes]:
        """One request on a connection of its own: status and body."""
        sent = {"Authorization": f"Bearer {self.tokens[role]}", **headers}
        if body is not None:
            body, sent["Content-Type"] = json.dumps(body), "application/json"
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as line:
            line.request(method, path, body, sent)
            answer = line.getresponse()
            return answer.status, answer.read()

    def processor_seconds(self) -> float:
        """What the server has used so far, user and system."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def attacked(source: Path, **variables: str) -> Iterator[Target]:
    """A new server of the sources in a folder, with a token for each role and a job."""
    with tempfile.TemporaryDirectory(prefix="rocktune-attack-") as folder:
        environment = {
            **os.environ,
            "PYTHONPATH": str(source),
            "ROCKTUNE_DB": f"{folder}/rocktune.db",
            "ROCKTUNE_BENCH_DIR": f"{folder}/bench",
            "ROCKTUNE_LOCK": f"{folder}/lock",
            "ROCKTUNE_TOKEN_FILE": f"{folder}/token",
            **variables,
        }
        program = [sys.executable, "-m", "cli.main"]
        serve = [*program, "serve", "--no-worker", "--port=0"]
        log = Path(folder, "log")
        with log.open("w") as written:
            server = subprocess.Popen(
                serve, cwd=source, env=environment, stderr=written, stdout=subprocess.DEVNULL
            )
        try:
            port = _port(log)
            tokens = {
                role.value: subprocess.run(
                    [*program, "token", "make", role.value, "--role", role.value],
                    cwd=source,
                    env=environment,
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout.strip()
                for role in Role
            }
            yield _stocked(Target(port, server.pid, tokens, 0))
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(15)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _port(log: Path) -> int:
    for _ in range(600):
        for line in log.read_text().splitlines():
            if '"listening"' in line:
                return int(json.loads(line)["url"].rpartition(":")[2])
        time.sleep(0.1)
    raise RuntimeError(f"the server does not listen: {log.read_text()}")


def _stocked(target: Target) -> Target:
    job = json.loads(target.ask("POST", "/v1/jobs", JOB)[1])["id"]
    told: list[dict[str, Any]] = [{"baseline": True, "metrics": {"rate": 100.0}}]
    target.ask("POST", f"/v1/jobs/{job}/trials", {"trials": told})
    for first in range(1, 1600, 400):
        failed = [
            {
                "configuration": {"batch": n},
                "state": "failed",
                "failure": "x" * 9000,
                "metrics": {},
            }
            for n in range(first, first + 400)
        ]
        assert target.ask("POST", f"/v1/jobs/{job}/trials", {"trials": failed})[0] == 200
    return Target(target.port, target.pid, target.tokens, job)


def open_request(target: Target, path: str, **headers: str) -> socket.socket:
    """A GET of the role `read` that is sent, and of which nothing is read."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.settimeout(60)
    line.connect(("127.0.0.1", target.port))
    sent = {"Host": "x", "Authorization": f"Bearer {target.tokens['read']}", **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    line.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
    return line


Told = Callable[[dict[str, Any]], None]


def hold_streams(target: Target, count: int, told: Told) -> None:
    """Idle event streams of one token."""
    lines, statuses = [], Counter[str]()
    for _ in range(count):
        after = "99999999999999999-1"  # behind all that has happened: the stream idles
        path = f"/v1/jobs/{target.job}/events?after={after}"
        line = open_request(target, path, Accept="text/event-stream")
        statuses[line.recv(12).decode("latin-1")[9:]] += 1
        lines.append(line)
        time.sleep(0.006)  # the default rate limit is not what is asked here
    told({"answers": dict(statuses)})
    _until_killed()


def hold_exports(target: Target, count: int, told: Told) -> None:
    """Exports that are asked for and never read."""
    kept = []
    for _ in range(count):
        kept.append(open_request(target, f"/v1/jobs/{target.job}/trials", Accept="text/csv"))
        time.sleep(0.3)
    told({"asked": count})
    _until_killed()


def send_bodies(target: Target, role: str | None, told: Told) -> None:
    """Eight clients that send bodies of 4 MB, one after the other."""
    answers, seconds = Counter[str](), 8.0
    end = time.monotonic() + seconds

    def one() -> None:
        while time.monotonic() < end:
            headers = {"Content-Type": "application/json"}
            if role is not None:
                headers["Authorization"] = f"Bearer {target.tokens[role]}"
            line = http.client.HTTPConnection("127.0.0.1", target.port, timeout=60)
            try:
                line.request("POST", "/v1/jobs", BODY, headers)
                answers[str(line.getresponse().status)] += 1
            except OSError as error:
                # The server need not take the body of a request that it has refused.
                answers[type(error).__name__] += 1
            finally:
                line.close()

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told({"answers": dict(answers)})


def _until_killed() -> None:
    while True:
        time.sleep(60)


@contextmanager
def beside(attack: Callable[..., None], *given: Any) -> Iterator[dict[str, Any]]:
    """Runs an attack in a process of its own; gives what it tells once it stands or is over."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=attack, args=(*given, there.send), daemon=True)
    process.start()
    try:
        found: dict[str, Any] = {}
        found["wait"] = lambda seconds: found.update(here.recv() if here.poll(seconds) else {})
        yield found
    finally:
        process.kill()
        process.join()


def watched(target: Target, seconds: float, path: str = "/healthz") -> dict[str, Any]:
    """What the server uses within some seconds, and how long it takes to answer meanwhile."""
    began, used = time.monotonic(), target.processor_seconds()
    took = []
    while time.monotonic() - began < seconds:
        asked = time.monotonic()
        target.ask("GET", path)
        took.append(time.monotonic() - asked)
        time.sleep(0.1)
    wall = time.monotonic() - began
    return {
        "cores": round((target.processor_seconds() - used) / wall, 3),
        "load": round(os.getloadavg()[0], 1),
        "median": round(sorted(took)[len(took) // 2], 3),
        "worst": round(max(took), 3),
        "asked": len(took),
    }


def _alone(source: Path) -> dict[str, Any]:
    with attacked(source) as target:
        return watched(target, 5)


def _streams(source: Path, count: int) -> dict[str, Any]:
    with attacked(source) as target, beside(hold_streams, target, count) as found:
        found["wait"](300)
        # Without anybody who asks: what the streams alone take.
        began, used = time.monotonic(), target.processor_seconds()
        time.sleep(8)
        idle = (target.processor_seconds() - used) / (time.monotonic() - began)
        row = watched(target, 5) | {"idle_cores": round(idle, 3), "answers": found.get("answers")}
        jobs = watched(target, 3, "/v1/jobs?limit=5")
        return row | {"jobs_worst": jobs["worst"]}


def _exports(source: Path) -> dict[str, Any]:
    with attacked(source) as target, beside(hold_exports, target, 4) as found:
        found["wait"](60)
        path, answers = f"/v1/jobs/{target.job}/trials?limit=1", {}
        began = time.monotonic()
        row = watched(target, 3)
        for after in (5, 60):
            time.sleep(max(0.0, began + after - time.monotonic()))
            for role in ("submit", "read"):  # another's token, and the attacker's own
                status, _ = target.ask("GET", path, role=role, Accept="text/csv")
                answers[f"{role} after {after} s"] = status
        return row | {"answers": answers}


def _bodies(source: Path, role: str | None) -> dict[str, Any]:
    limits = {"ROCKTUNE_RATE_LIMIT": "100000/second"}
    with attacked(source, **limits) as target, beside(send_bodies, target, role) as found:
        used = target.processor_seconds()
        time.sleep(0.5)
        row = watched(target, 6)
        found["wait"](60)
        answers = found.get("answers") or {}
        used = target.processor_seconds() - used
        each = used / max(1, sum(answers.values()))
        return row | {"answers": answers, "seconds_each": round(each, 4)}


def _queue(source: Path) -> dict[str, Any]:
    with attacked(source, ROCKTUNE_MOST_QUEUED="5") as target:
        jobs = [{"name": f"j{n}", "workload": "load-quick", "trials": 20} for n in range(400)]
        answers = Counter[str]()
        for number in range(3):
            batch = {"name": f"b{number}", "job": jobs}
            answers[str(target.ask("POST", "/v1/batches", batch)[0])] += 1
        queued, after = 0, ""
        while True:
            page = json.loads(target.ask("GET", f"/v1/jobs?state=queued&limit=1000{after}")[1])
            queued += len(page["jobs"])
            if page["next"] is None:
                break
            after = f"&after={page['next']}"
        return {"answers": dict(answers), "queued": queued}


ATTACKS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "none": _alone,
    "streams-100": lambda source: _streams(source, 100),
    "streams-1000": lambda source: _streams(source, 1000),
    "exports": _exports,
    "bodies": lambda source: _bodies(source, None),
    "bodies-submit": lambda source: _bodies(source, "submit"),
    "queue": _queue,
}


WORDS = {
    "none": "none",
    "streams-100": "100 idle event streams of one token",
    "streams-1000": "1,000 idle event streams of one token",
    "exports": "four exports that are never read",
    "bodies": "eight clients post 4 MB without a token",
    "bodies-submit": "the same with a token of role `submit`",
    "queue": "`ROCKTUNE_MOST_QUEUED=5`, three batches of 400 jobs",
}
_ABOUT = (
    "Each attack runs in a process of its own against a new server on loopback. Meanwhile "
    "`/healthz` is asked ten times a second. Cores are processor seconds of the server by seconds "
    'on the clock. "Before" are the sources of 566b351c (`--source DIR --label before`). Others '
    "used the machine at the same time (load: processes that ran or waited, on 2 cores; before it "
    "was noted, 8 to 15), so latencies compare only roughly; processor seconds and answers do not "
    "depend on that."
)
_COLUMNS = {
    "cores": "cores",
    "idle_cores": "cores, nobody asking",
    "seconds_each": "processor s a request",
    "load": "load",
    "median": "`/healthz` median s",
    "worst": "worst s",
    "jobs_worst": "`GET /v1/jobs` worst s",
}


def page(rows: Sequence[dict[str, Any]]) -> str:
    """The page, of the newest row of each attack and label."""
    newest = {(row["attack"], row["label"]): row for row in rows}
    days = sorted({row["day"] for row in newest.values()})
    command = make_command("prove-attacks", [])
    about = fill(f"`{command}`, {' to '.join(days)}, {MACHINE}. {_ABOUT}", 120)
    head = " | ".join(("attack", "label", *_COLUMNS.values(), "answers"))
    rule = "|".join(("---", "---", *("--:" for _ in _COLUMNS), "---"))
    lines = [f"# Attacks on the service\n\n{about}\n\n| {head} |\n|{rule}|\n"]
    for attack, words in WORDS.items():
        for label in ("before", "now"):
            if (row := newest.get((attack, label))) is not None:
                figures = [str(row.get(name, "")) for name in _COLUMNS]
                said = [
                    f"{count:,} x {name}" for name, count in (row.get("answers") or {}).items()
                ]
                if attack == "exports":  # by when they came
                    said = [f"{name}: {status}" for name, status in row["answers"].items()]
                if "queued" in row:
                    said.append(f"{row['queued']:,} jobs queued")
                cells = [words, label, *figures, ", ".join(said)]
                lines.append(f"| {' | '.join(cells)} |\n")
    return "".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the attacks, keeps their rows, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, default=ROOT, help="Folder of the sources.")
    parser.add_argument("--label", default="now", help="What the rows are called.")
    parser.add_argument("--attacks", type=names, default=tuple(ATTACKS), help="Which ones.")
    parser.add_argument("--page", action="store_true", help="Only write the page.")
    given = parser.parse_args(arguments)
    for name in () if given.page else given.attacks:
        row = ATTACKS[name](given.source.absolute())
        about = {"attack": name, "label": given.label, "day": f"{datetime.now(UTC):%Y-%m-%d}"}
        append_line(ROWS, about | row)
        print(json.dumps(about | row), flush=True)
    PAGE.write_text(page(read_lines(ROWS)))


if __name__ == "__main__":
    main()
