"""Running the command `rocktune` as a user does, and in ways that only tests need."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support import ROOT
from tests.support.jobs.instant import ended_within, pidfd

ROCKTUNE = Path(sys.executable).with_name("rocktune")


@dataclass(frozen=True)
class Desk:
    """Where a user of the tests sits: a folder, a bench and a lock of one's own."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def mark(self) -> str:
        """In the environment of every process that was started from here."""
        return f"ROCKTUNE_BENCH_DIR={self.bench}"

    @property
    def bench(self) -> Path:
        return self.folder / "bench"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def database(self) -> str:
        return str(self.folder / "rocktune.db")

    def variables(self) -> dict[str, str]:
        return {
            "ROCKTUNE_BENCH_DIR": str(self.bench),
            "ROCKTUNE_LOCK": str(self.folder / "lock"),
            "ROCKTUNE_FREE_BYTES": str(2**20),
            "XDG_DATA_HOME": str(self.folder / "data"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            **self.environment,
        }

    @contextmanager
    def start(
        self, *arguments: object, before: Sequence[str] = ()
    ) -> Iterator[subprocess.Popen[str]]:
        """The real command in a process of its own, which is killed in the end."""
        process = subprocess.Popen(
            [*before, str(ROCKTUNE), *map(str, arguments)],
            cwd=self.folder,
            env={**os.environ, **self.variables()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process:
            try:
                yield process
            finally:
                process.kill()

    def run(
        self, *arguments: object, before: Sequence[str] = ()
    ) -> "subprocess.CompletedProcess[str]":
        """The real command, to its end."""
        with self.start(*arguments, before=before) as process:
            printed, said = process.communicate(timeout=300)
        return subprocess.CompletedProcess(process.args, process.returncode, printed, said)


class Zygote:
    """The process of ``zygote.py``."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("zygote.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1",
                 "OPENBLAS_NUM_THREADS": "1"},
            text=True,
        )  # fmt: skip

    def ask(self, task: Mapping[str, Any]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        return int(json.loads(self._process.stdout.readline()))

    def start(self, desk: Desk, *arguments: object) -> int:
        """Runs the command; what it says is added to ``desk.folder / "log"``."""
        given = [str(argument) for argument in arguments]
        log = str(desk.folder / "log")
        return self.ask({"arguments": given, "environment": desk.variables(), "log": log})

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


def rest(pipe: int) -> bytes:
    """All that is still in the pipe."""
    os.set_blocking(pipe, False)
    found = b""
    try:
        while True:
            found += os.read(pipe, 65536)
    except BlockingIOError:
        return found
    finally:
        os.set_blocking(pipe, True)
