"""Running the command `rocktune` as a user does, and in ways that only tests need."""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support import AT_ONCE
from tests.support.cli.launched import ROCKTUNE, zygote_of_this_process


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
            **AT_ONCE,
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
        """The command to its end: executed below another program, forked where there is none."""
        if before:
            with self.start(*arguments, before=before) as process:
                printed, said = process.communicate(timeout=300)
            return subprocess.CompletedProcess(process.args, process.returncode, printed, said)
        out, errors = self.folder / "printed", self.folder / "said"
        for path in (out, errors):
            path.write_text("")
        pid = zygote_of_this_process().start(self, *arguments, out=out, errors=errors)
        status = zygote_of_this_process().wait(pid, seconds=300)
        return subprocess.CompletedProcess(arguments, status, out.read_text(), errors.read_text())


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
