"""Makes the databases of a release through its commands and its HTTP interface alone.

    PYTHONPATH=RELEASE python make.py sqlite:////tmp/new/jobs.db sqlite.sql.gz
    PYTHONPATH=RELEASE python make.py postgresql://USER:PASSWORD@HOST/EMPTY postgresql.sql.gz

The server is killed in the middle of a job, with another one queued behind it. The benchmark is a
line of shell that ends at once.
"""

import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROCKTUNE = [sys.executable, "-m", "cli.main"]
# Smaller write buffers write less, whatever the process's number adds.
BENCH = (
    'w=$(sed \'s/.*"write_buffer_size": \\([0-9]*\\).*/\\1/\' "$1"); sleep {seconds}; '
    "n=$(( ($$ * 69069 + 1) / 16 % 20 )); waf=$(( 100 + 3 * w / 1048576 + n )); "
    'printf \'{{"waf": 1.%03d, "sa": 1.2%d, "time": 3.1%d, "rate": 10%d}}\\n\' $waf $n $n $n'
)
SPACE = {
    "name": "buffers",
    "parameter": [
        {"name": "write_buffer_size"},
        {"name": "level0_file_num_compaction_trigger"},
        {"name": "max_background_jobs"},
    ],
}
ASKED = {"workload": "quick", "space": SPACE, "objective": "waf", "trials": 40}
NIGHTS = {
    "name": "every-night",
    "cron": "30 2 * * *",
    "time_zone": "Europe/Berlin",
    "batch": {
        "job": [{"name": "quick", "trials": 20, "strategy": "random", **{
            each: ASKED[each] for each in ("workload", "space", "objective")}}],
    },
}  # fmt: skip


def main(url: str, out: str) -> None:
    with tempfile.TemporaryDirectory(prefix="last-release-") as folder:
        workloads = Path(folder) / "workloads"
        workloads.mkdir()
        for name, seconds in (("quick", 0), ("slow", 0.2)):
            argv = ["/bin/sh", "-c", BENCH.format(seconds=seconds), "bench", "{configuration}"]
            text = f'name = "{name}"\n[command]\nargv = {json.dumps(argv)}\ntimeout_seconds = 60\n'
            (workloads / f"{name}.toml").write_text(text)
        os.environ |= {
            "ROCKTUNE_BENCH_DIR": f"{folder}/bench",
            "ROCKTUNE_LOCK": f"{folder}/lock",
            "ROCKTUNE_TOKEN_FILE": f"{folder}/token",
            "ROCKTUNE_WORKLOADS_DIR": str(workloads),
        }
        rocktune("db", "upgrade", "--db", url)
        token = rocktune("token", "make", "ci", "--role", "admin", "--db", url).strip()
        rocktune("token", "make", "gone", "--role", "submit", "--db", url)
        rocktune("token", "revoke", "gone", "--db", url)
        log = Path(folder) / "log"
        with log.open("wb") as said:
            server = subprocess.Popen(
                [*ROCKTUNE, "serve", "--port", "0", "--db", url], stdout=said, stderr=said
            )
        try:
            fill(Service(address(log), token))
        except BaseException:
            sys.stderr.write(log.read_text())
            raise
        finally:
            server.kill()
            server.wait()
        time.sleep(1)  # the run that was left ends by itself
    Path(out).write_bytes(gzip.compress(dump(url).encode(), 9, mtime=0))


def fill(service: "Service") -> None:
    """A finished job, two nights, an interrupted job, and one that is queued behind it."""
    job = service.call("POST", "/v1/jobs", ASKED)["id"]
    wait_for(lambda: service.call("GET", f"/v1/jobs/{job}")["state"] == "done")
    service.call("POST", "/v1/schedules", NIGHTS)
    for _ in range(2):
        batch = service.call("POST", "/v1/schedules/every-night/run")["id"]
        wait_for(lambda: service.call("GET", f"/v1/batches/{batch}")["result"])  # noqa: B023
    slow = ASKED | {"workload": "slow", "trials": 20, "strategy": "random"}
    job = service.call("POST", "/v1/jobs", slow)["id"]
    service.call("POST", "/v1/jobs", ASKED | {"trials": 14, "strategy": "random"})
    ended = f"/v1/jobs/{job}/trials?state=done"
    wait_for(lambda: len(service.call("GET", ended)["trials"]) >= 8)


class Service:
    def __init__(self, address: str, token: str) -> None:
        self._address, self._token = address, token

    def call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"}
        request = urllib.request.Request(self._address + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())


def rocktune(*arguments: str) -> str:
    return subprocess.run(
        [*ROCKTUNE, *arguments], check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def address(log: Path) -> str:
    def look() -> str | None:
        lines = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
        return next((each["url"] for each in lines if each["event"] == "listening"), None)

    return wait_for(look)


def wait_for(found: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 90
    while not (value := found()):
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.1)
    return value


def dump(url: str) -> str:
    """The whole database as SQL, without commands of psql."""
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        return "\n".join(connection.iterdump()) + "\n"
    command = ["pg_dump", "--no-owner", "--no-privileges", "--rows-per-insert=100", url]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return "\n".join(line for line in text.splitlines() if not line.startswith("\\")) + "\n"


if __name__ == "__main__":
    main(*sys.argv[1:])
