"""Real processes of the service, as their users start them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

from tests.support import AT_ONCE, ROOT


@dataclass
class Running:
    """A process of `rocktune`; what it logs is kept."""

    process: subprocess.Popen[str]
    lines: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""
    token: str = ""

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


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
    """Starts a command and waits until it has logged an event."""
    process = subprocess.Popen(
        [sys.executable, "-m", "cli.main", *arguments], stderr=subprocess.PIPE, text=True, env=env
    )
    running = Running(process)
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if _keep(running, line).get("event") == until:
                break
        else:
            raise AssertionError(f"{arguments} ended: {running.lines}")
        if "serve" in arguments:
            running.token = Path(env["ROCKTUNE_TOKEN_FILE"]).read_text().strip()
        # A full pipe would stop it.
        drain = Thread(target=_drain, args=(running,))
        drain.start()
        try:
            yield running
        finally:
            process.terminate()
            drain.join(30)
    finally:
        process.terminate()
        process.wait(30)
        process.stderr.close()


def _keep(running: Running, line: str) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        event = {"event": line.strip()}
    running.lines.append(event)
    running.url = event.get("url", running.url)
    return event


def _drain(running: Running) -> None:
    assert running.process.stderr is not None
    for line in running.process.stderr:
        _keep(running, line)
