"""One trial at a time on this machine: lock, folder, process, outcome, and nothing left behind."""

import contextlib
import secrets
import time
from collections.abc import Callable
from dataclasses import replace

from sampler.common.errors import InputError
from sampler.machine.processes import kill_marked
from sampler.runner.bench_folder import (
    make_trial_folder,
    remove_leftovers,
    remove_trial_folder,
    require_space,
)
from sampler.runner.benchmark import Benchmark
from sampler.runner.host_lock import MARK, host_lock
from sampler.runner.outcome import Outcome, TrialState
from sampler.runner.prepared_copies import PreparedCopies
from sampler.runner.process import Limits
from sampler.runner.settings import Settings
from sampler.runner.trial_processes import TrialProcesses
from sampler.space.space import Configuration

_MOST_AGAIN = 2


class LocalRunner:
    """Runs trials one after the other, each holding the host-wide lock.

    Not for several threads; the thread that starts a trial and waits for it must live until it
    ends.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        settings: Settings,
        *,
        waiting: Callable[[str], None] = lambda _: None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Binds a benchmark to this machine; ``waiting`` and ``pause`` are those of the lock."""
        self._benchmark, self._settings = benchmark, settings
        self._waiting, self._pause = waiting, pause
        self._copies = PreparedCopies(settings.bench_dir, settings.prepared_bytes)
        self._flight: tuple[TrialProcesses, contextlib.ExitStack] | None = None
        self._waited = 0.0  # for the lock, before the trial in flight

    def start(
        self,
        configuration: Configuration,
        *,
        cutoff_seconds: float | None = None,
        share: bool = False,
        reads: bool = False,
    ) -> None:
        """Begins a trial, when the host is free.

        Args:
            configuration: What is measured.
            cutoff_seconds: After it the trial is cut off; None: never.
            share: Whether a database that must be prepared may be a copy of one that was prepared
                alike. What is to be independent evidence prepares its own.
            reads: Whether reads of the database that it leaves are measured, too.

        Raises:
            InputError: The machine cannot run it: no room on the disk, no right to write.
            RuntimeError: A trial is in flight already.
        """
        if self._flight:
            raise RuntimeError("a trial is in flight already")
        token = secrets.token_hex(8)
        self._waited = 0.0
        with contextlib.ExitStack() as closing:
            lock = closing.enter_context(
                host_lock(self._settings.lock, token, waiting=self._waiting, pause=self._rest)
            )
            remove_leftovers(self._settings.bench_dir)
            self._make_room()
            folder = make_trial_folder(self._settings.bench_dir)
            closing.callback(remove_trial_folder, folder)
            processes = TrialProcesses(
                self._benchmark,
                configuration,
                folder,
                limits=Limits(
                    timeout_seconds=self._benchmark.timeout_seconds,
                    cutoff_seconds=cutoff_seconds,
                    free_bytes=self._settings.free_bytes,
                ),
                mark={MARK: token},
                lock=lock,
                copies=self._copies if share else None,
                reads=reads,
                probe=self._settings.speed_probe,
            )
            # What left the process group is found by its environment, and ended too.
            closing.callback(kill_marked, MARK, token)
            self._flight = processes, closing.pop_all()

    def wait(self, timeout: float) -> Outcome | None:
        """The outcome, or None when the trial is not over after ``timeout`` s.

        Raises:
            InputError: What follows its preparation cannot be started.
        """
        if self._flight is None:
            raise RuntimeError("no trial is in flight")
        processes, closing = self._flight
        try:
            outcome = processes.wait(timeout)
        except BaseException:
            self.cancel()
            raise
        if outcome is not None:
            self._flight = None
            closing.close()
            outcome = replace(outcome, waited_seconds=self._waited)
        return outcome

    def cancel(self) -> None:
        """Ends the trial in flight, if there is one, and cleans up after it."""
        flight, self._flight = self._flight, None
        if flight:
            processes, closing = flight
            with closing:
                processes.cancel()

    def run(
        self,
        configuration: Configuration,
        *,
        share: bool = False,
        reads: bool = False,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> Outcome:
        """Measures one configuration from beginning to end; see ``start``.

        A run that counts for nothing, for the machine's clock was set, is made again; twice.
        ``meanwhile`` is called about every second while it is measured; what it raises ends the
        run.
        """
        again = _MOST_AGAIN
        while True:
            self.start(configuration, share=share, reads=reads)
            try:
                while (outcome := self.wait(1.0)) is None:
                    meanwhile()
            except BaseException:
                self.cancel()
                raise
            if outcome.state is not TrialState.LOST or not again:
                return outcome
            again -= 1

    def _rest(self, seconds: float) -> None:
        began = time.monotonic()
        self._pause(seconds)
        self._waited += time.monotonic() - began

    def _make_room(self) -> None:
        self._copies.clean()
        try:
            require_space(self._settings.bench_dir, self._benchmark.space_bytes)
        except InputError:
            self._copies.clear()
            require_space(self._settings.bench_dir, self._benchmark.space_bytes)
