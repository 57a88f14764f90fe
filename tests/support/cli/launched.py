"""`rocktune` as a process that goes on: executed, or forked from one that has imported it all."""

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support import ROOT, inherited
from tests.support.jobs.instant import ended_within, pidfd

if TYPE_CHECKING:
    from tests.support.cli.terminal import Desk

ROCKTUNE = Path(sys.executable).with_name("rocktune")


class Zygote:
    """The process of ``zygote.py``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Nothing in its environment marks a process of a test; those of the tests need room there.
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("zygote.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**inherited(), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1",
                 "OPENBLAS_NUM_THREADS": "1", "ROOM": " " * 2**15},
            text=True,
        )  # fmt: skip

    def ask(self, task: Mapping[str, Any]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()
            return int(json.loads(self._process.stdout.readline()))

    def start(
        self, desk: "Desk", *arguments: object, out: Path | None = None, errors: Path | None = None
    ) -> int:
        """Runs the command from the desk; what it says is added to ``desk.folder / "log"``.

        ``out`` and ``errors`` name other files for its two outputs.
        """
        log = out or desk.folder / "log"
        return self.ask({
            "arguments": [str(argument) for argument in arguments],
            "environment": {**os.environ, **desk.variables()}, "folder": str(desk.folder),
            "log": str(log), "errors": str(errors or log),
        })  # fmt: skip

    def wait(self, pid: int, *, seconds: float = 240) -> int:
        """Its exit status."""
        with pidfd(pid) as descriptor:
            if descriptor is not None and not ended_within(descriptor, seconds):
                os.kill(pid, 9)
                self.ask({"wait": pid})
                raise AssertionError(f"process {pid} did not end")
        return self.ask({"wait": pid})

    def close(self) -> None:
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(60)


@cache
def zygote_of_this_process() -> Zygote:
    """One for all tests that a process runs, started when the first of them needs it."""
    made = Zygote()
    atexit.register(made.close)
    return made


class ForkedProcess:
    """A forked process, as ``subprocess.Popen`` shows one."""

    def __init__(self, zygote: Zygote, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._zygote = zygote
        self._ended = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """Its exit status; None while it runs."""
        return self.returncode if self._ends_within(0) else None

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status.

        Raises:
            subprocess.TimeoutExpired: It has not ended after so many seconds.
        """
        if not self._ends_within(timeout):
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _ends_within(self, seconds: float | None) -> bool:
        if self.returncode is None:
            poll = select.poll()
            poll.register(self._ended, select.POLLIN)
            if not poll.poll(None if seconds is None else seconds * 1000):
                return False
            self.returncode = self._zygote.ask({"wait": self.pid})
            os.close(self._ended)
        return True


Process = subprocess.Popen[bytes] | ForkedProcess
# A command line, its environment, its folder, and the file that receives what it says.
Launch = Callable[[Sequence[str], Mapping[str, str], Path, Path], Process]


def executed(
    argv: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path
) -> Process:
    """Any program, as users start it."""
    with log.open("wb") as out:
        return subprocess.Popen(
            argv, cwd=folder, env=dict(environment), stdin=subprocess.DEVNULL, stdout=out,
            stderr=out,
        )  # fmt: skip


def forked(
    argv: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path
) -> Process:
    """The same without the imports, where it is `rocktune` or a text of Python."""
    match argv:
        case [program, *arguments] if program == str(ROCKTUNE):
            task: dict[str, object] = {"arguments": arguments}
        case [sys.executable, "-c", script, *arguments]:
            task = {"script": script, "arguments": arguments}
        case _:
            return executed(argv, environment, folder, log)
    log.touch()
    task |= {"environment": dict(environment), "folder": str(folder), "log": str(log)}
    zygote = zygote_of_this_process()
    return ForkedProcess(zygote, zygote.ask(task))
