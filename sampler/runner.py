"""One trial at a time on this machine: lock, folder, process, outcome, and nothing left behind."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sampler.errors import InputError
from sampler.host_lock import MARK, host_lock
from sampler.outcome import Outcome
from sampler.process import BenchProcess, Ended, Limits
from sampler.process_identity import kill_marked
from sampler.settings import Settings
from sampler.space import Configuration
from sampler.trial_folder import (
    make_trial_folder,
    remove_leftovers,
    remove_trial_folder,
    require_space,
)


class Benchmark(Protocol):
    """Makes a command line of a configuration, and an outcome of what the command left."""

    @property
    def timeout_seconds(self) -> float:
        """A trial that takes longer is ``timed_out``."""
        ...

    @property
    def space_bytes(self) -> int:
        """Free bytes that a trial needs."""
        ...

    def prepare(self, configuration: Configuration, folder: Path) -> list[str]:
        """Writes what the command reads into the trial's folder and returns the command line."""
        ...

    def environment(self) -> Mapping[str, str]:
        """The command's environment."""
        ...

    def settled(self, folder: Path) -> bool:
        """Whether the work is done and the command merely waits."""
        ...

    def harvest(
        self, configuration: Configuration, folder: Path, ended: Ended, began: float
    ) -> Outcome:
        """What the run came to."""
        ...


@dataclass
class _InFlight:
    configuration: Configuration
    folder: Path
    process: BenchProcess
    began: float
    token: str
    closing: contextlib.ExitStack


class LocalRunner:
    """Runs trials one after the other, each holding the host-wide lock.

    Not for several threads; the thread that starts a trial must live until it ends.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        settings: Settings,
        *,
        waiting: Callable[[str], None] = lambda _: None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Binds a benchmark to this machine.

        Args:
            benchmark: What is run.
            settings: Where.
            waiting: Told who holds the host while a trial must wait for it.
            pause: How to wait.
        """
        self._benchmark, self._settings = benchmark, settings
        self._waiting, self._pause = waiting, pause
        self._flight: _InFlight | None = None

    def start(self, configuration: Configuration, *, cutoff_seconds: float | None = None) -> None:
        """Begins a trial, when the host is free.

        Raises:
            InputError: The machine cannot run it: no room on the disk, no right to write.
            RuntimeError: A trial is in flight already.
        """
        if self._flight:
            raise RuntimeError("a trial is in flight already")
        token = secrets.token_hex(8)
        with contextlib.ExitStack() as closing:
            lock = closing.enter_context(
                host_lock(self._settings.lock, token, waiting=self._waiting, pause=self._pause)
            )
            remove_leftovers(self._settings.bench_dir)
            require_space(self._settings.bench_dir, self._benchmark.space_bytes)
            folder = make_trial_folder(self._settings.bench_dir)
            closing.callback(remove_trial_folder, folder)
            began = time.time()
            process = self._spawn(configuration, folder, cutoff_seconds, token, lock)
            # What left the process group is found by its environment, and ended too.
            closing.callback(kill_marked, f"{MARK}={token}")
            self._flight = _InFlight(
                configuration, folder, process, began, token, closing.pop_all()
            )

    def wait(self, timeout: float) -> Outcome | None:
        """The outcome, or None when the trial is not over after ``timeout`` s."""
        flight = self._flight
        if flight is None:
            raise RuntimeError("no trial is in flight")
        ended = flight.process.wait(timeout)
        if ended is None:
            return None
        self._flight = None
        with flight.closing:
            return self._benchmark.harvest(
                flight.configuration, flight.folder, ended, flight.began
            )

    def cancel(self) -> None:
        """Ends the trial in flight, if there is one, and cleans up after it."""
        flight, self._flight = self._flight, None
        if flight:
            with flight.closing:
                flight.process.cancel()

    def run(self, configuration: Configuration) -> Outcome:
        """Measures one configuration from beginning to end."""
        self.start(configuration)
        try:
            while (outcome := self.wait(1.0)) is None:
                pass
        except BaseException:
            self.cancel()
            raise
        return outcome

    def _spawn(
        self,
        configuration: Configuration,
        folder: Path,
        cutoff_seconds: float | None,
        token: str,
        lock: int,
    ) -> BenchProcess:
        try:
            argv = self._benchmark.prepare(configuration, folder)
            return BenchProcess(
                argv,
                folder=folder,
                work_in=Path.cwd(),
                environment={**self._benchmark.environment(), MARK: token},
                limits=Limits(
                    timeout_seconds=self._benchmark.timeout_seconds,
                    cutoff_seconds=cutoff_seconds,
                    settled=lambda: self._benchmark.settled(folder),
                    free_bytes=self._settings.free_bytes,
                ),
                keep_open=(lock,),
            )
        except OSError as error:
            raise InputError("benchmark", f"cannot be started: {error}") from None
