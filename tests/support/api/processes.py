"""Real processes of the service, as their users start them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support import AT_ONCE, ROOT
from tests.support.cli.launched import ROCKTUNE, forked
from tests.support.jobs.service_desk import ServiceProcess


@dataclass
class Running:
    """A process of `rocktune` that serves, with the URL and the token of whoever started it."""

    process: ServiceProcess
    url: str = ""
    token: str = ""


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Everything that a process writes goes into a folder of the test."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONPATH": str(ROOT),
        **AT_ONCE,
        "ROCKTUNE_BENCH_DIR": str(folder / "bench"),
        "ROCKTUNE_LOCK": str(folder / "lock"),
        "ROCKTUNE_TOKEN_FILE": str(folder / "token"),
        **{name: value for name, value in os.environ.items() if name.startswith("COVERAGE")},
        **more,
    }


@contextmanager
def rocktune(*arguments: str, env: dict[str, str], until: str) -> Iterator[Running]:
    """Starts a command, forked with its imports, and waits until it has logged an event."""
    log = Path(env["HOME"]) / f"log-{arguments[0]}"
    process = ServiceProcess(forked([str(ROCKTUNE), *arguments], env, ROOT, log), log)
    try:
        process.await_said(until)
        running = Running(process)
        if "serve" in arguments:
            running.url = process.address()
            running.token = Path(env["ROCKTUNE_TOKEN_FILE"]).read_text().strip()
        yield running
        process.stop()
    finally:
        process.kill()
