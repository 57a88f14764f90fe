"""A service to speak with: a real one, and one that answers whatever a test wants."""

import os
import pty
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.cli.launched import ROCKTUNE, forked
from tests.support.jobs.instant import SPACE, write_space, write_workload
from tests.support.jobs.service_desk import ServiceDesk, ServiceProcess, wait_until

GATED = """\
while [ ! -e '{gate}' ]; do sleep 0.02; done
printf '{{"waf": 2.0, "sa": 1.2, "time": 3.1, "rate": 10}}\\n'
"""
BROKEN = "echo 'the disk is on fire' >&2; exit 3\n"


@dataclass
class Scene:
    """A running service, and what a user has at hand.

    Attributes:
        url: Where it listens.
        gate: The workload ``gated`` waits until this file is there.
    """

    desk: ServiceDesk
    process: ServiceProcess
    url: str
    gate: Path

    @property
    def space(self) -> Path:
        return self.desk.folder / "space.toml"

    @property
    def database(self) -> str:
        return self.desk.url

    def user(self) -> dict[str, str]:
        """What is set for whoever has started it."""
        return self.desk.variables() | {"ROCKTUNE_URL": self.url}

    def jobs(self) -> int:
        """How many there are."""
        return len(self.desk.call("GET", f"{self.url}/v1/jobs?limit=1000")["jobs"])

    def job(self, job_id: int) -> Any:
        return self.desk.call("GET", f"{self.url}/v1/jobs/{job_id}")

    def asked(self, *more: object, workload: str = "instant") -> list[object]:
        """What `rocktune submit` is given for a job of a second or two."""
        return ["submit", "--workload", workload, "--space", self.space, "--objective", "waf",
                "--strategy", "random", "--trials", 14, *more]  # fmt: skip

    def submitted(self, workload: str = "instant", **more: object) -> int:
        """The number of a new job."""
        from sampler.common.documents import parse_toml

        asked = {"workload": workload, "space": parse_toml(SPACE, field="space"),
                 "objective": "waf", "strategy": "random", "trials": 14, **more}  # fmt: skip
        return int(self.desk.call("POST", f"{self.url}/v1/jobs", asked)["id"])

    def until(self, job_id: int, *states: str, trials: int = 0) -> Any:
        """The job, once it is in one of the states and has so many trials."""

        def look() -> Any:
            job = self.job(job_id)
            return job if job["state"] in states and job["done"] >= trials else None

        return wait_until(look, seconds=60, what=f"job {job_id} is {states}, {trials} trials")

    def finished(self, workload: str = "instant", **more: object) -> int:
        """The number of a job that is done."""
        job_id = self.submitted(workload, **more)
        self.until(job_id, "done")
        return job_id


@contextmanager
def serving(folder: Path) -> Iterator[Scene]:
    """A real `rocktune serve` with the workloads instant, even, gated and broken."""
    desk = ServiceDesk(folder, str(folder / "service.db"), launch=forked)
    desk.workloads.mkdir()
    gate = folder / "gate"
    scripts = {"instant": None, "even": None, "gated": GATED.format(gate=gate), "broken": BROKEN}
    for name, script in scripts.items():
        own = folder / name
        own.mkdir()
        path = write_workload(own, wins="none" if name == "even" else "fast", script=script)
        text = path.read_text().replace('name = "instant"', f'name = "{name}"')
        (desk.workloads / f"{name}.toml").write_text(text)
    write_space(folder)
    process = desk.start("serve", "--port=0")
    scene = Scene(desk, process, "", gate)
    try:
        scene.url = process.address()
        yield scene
        assert scene.process.stop() == 0
    finally:
        scene.process.kill()


@dataclass
class Asked:
    """A request that came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Answer = tuple[int, Mapping[str, str], bytes]


@dataclass
class Stub:
    """A server that answers as a function says; where it says None the connection breaks."""

    url: str
    asked: list[Asked] = field(default_factory=list)


@contextmanager
def stub(answer: Callable[[Asked], Answer | None]) -> Iterator[Stub]:
    """Runs one."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            asked = Asked(self.command, self.path, dict(self.headers), self.rfile.read(length))
            served.asked.append(asked)
            given = answer(asked)
            self.close_connection = True
            if given is None:
                return
            status, headers, body = given
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # who asked no longer waits
                self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = Stub(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class TerminalRun:
    """The command on a terminal of its own."""

    process: "subprocess.Popen[bytes]"
    shown: bytearray = field(default_factory=bytearray)

    def sees(self, text: str) -> None:
        """Waits until a text is on the terminal."""
        wait_until(
            lambda: text.encode() in self.shown or self.process.poll() is not None,
            seconds=60,
            what=f"{text!r} is shown",
        )
        assert text.encode() in self.shown, self.shown.decode()

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def ends(self) -> int:
        """Its exit status."""
        return self.process.wait(60)


@contextmanager
def on_terminal(environment: Mapping[str, str], *arguments: object) -> Iterator[TerminalRun]:
    """Runs the command with a terminal as its output; killed at the end if it still runs."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [str(ROCKTUNE), *map(str, arguments)],
        env={**os.environ, **environment, "TERM": "xterm", "COLUMNS": "120"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    run = TerminalRun(process)

    def read() -> None:
        with suppress(OSError):  # the last writer has gone
            while part := os.read(ours, 4096):
                run.shown.extend(part)

    reading = threading.Thread(target=read)
    reading.start()
    try:
        yield run
    finally:
        process.kill()
        process.wait()
        reading.join()
        os.close(ours)
