"""One trial at a time on this machine: lock, folder, processes, outcome; nothing stays behind."""

import contextlib
import secrets
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from sampler.common.atomic_write import make_private_folder
from sampler.common.errors import InputError
from sampler.machine.processes import kill_marked
from sampler.runner.bench_folder import remove_leftovers, require_space, trial_folder
from sampler.runner.benchmark import Benchmark
from sampler.runner.conditions import Conditions
from sampler.runner.host_lock import MARK, host_lock
from sampler.runner.outcome import Outcome, TrialState
from sampler.runner.prepared_copies import PreparedCopies
from sampler.runner.process import BenchProcess, EndedProcess, Ending, Limits
from sampler.runner.settings import Settings
from sampler.space.space import Configuration

_MOST_AGAIN = 2


@dataclass
class _Flight:
    """A trial under way."""

    processes: Generator[BenchProcess, EndedProcess, Outcome]  # sent how each one ended
    running: BenchProcess
    closing: contextlib.ExitStack


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
        self._flight: _Flight | None = None
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
            folder = closing.enter_context(trial_folder(self._settings.bench_dir))
            limits = Limits(
                timeout_seconds=self._benchmark.timeout_seconds,
                cutoff_seconds=cutoff_seconds,
                free_bytes=self._settings.free_bytes,
            )
            processes = self._processes(
                configuration, folder, limits, {MARK: token}, lock, share=share, reads=reads
            )
            running = next(processes)
            # What left the process group is found by its environment, and ended too.
            closing.callback(kill_marked, MARK, token)
            self._flight = _Flight(processes, running, closing.pop_all())

    def wait(self, timeout: float) -> Outcome | None:
        """The outcome, or None when the trial is not over after ``timeout`` s.

        Raises:
            InputError: What follows its preparation cannot be started.
        """
        flight = self._flight
        if flight is None:
            raise RuntimeError("no trial is in flight")
        until = time.monotonic() + timeout
        try:
            while ended := flight.running.wait(max(0.0, until - time.monotonic())):
                flight.running = flight.processes.send(ended)
        except StopIteration as over:
            self._flight = None
            flight.closing.close()
            outcome: Outcome = over.value
            return replace(outcome, waited_seconds=self._waited)
        except BaseException:
            self.cancel()
            raise
        return None

    def cancel(self) -> None:
        """Ends the trial in flight, if there is one, and cleans up after it."""
        flight, self._flight = self._flight, None
        if flight:
            with flight.closing:
                flight.running.cancel()
                flight.processes.close()

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

    def _processes(
        self,
        configuration: Configuration,
        folder: Path,
        limits: Limits,
        mark: Mapping[str, str],
        lock: int,
        *,
        share: bool,
        reads: bool,
    ) -> Generator[BenchProcess, EndedProcess, Outcome]:
        """What prepares a trial's database, what is measured, and what follows, one by one.

        Those that prepare and measure share the limits. All have the ``mark`` in their environment
        and keep the ``lock`` open.
        """
        benchmark, spawn = self._benchmark, partial(self._spawn, mark=mark, lock=lock)
        argv = benchmark.prepare(configuration, folder)
        preparation = benchmark.preparing(configuration, folder)
        key = preparation.key() if preparation and share else None
        copied = self._copies.take(key, folder) if key else None
        # What preparing took here, and what it counts for in the limits: the same for a copy, so
        # that a configuration is cut off or not whether its database was there or not.
        prepared_seconds, counted = 0.0, copied.seconds if copied else 0.0
        if preparation and not copied:
            held = replace(limits, held_from=preparation.held_from, settled=preparation.settled)
            make_private_folder(preparation.outputs)
            ended = yield spawn(preparation.argv(), preparation.outputs, held)
            failed = preparation.finish(ended)
            if failed is not None:
                return failed
            prepared_seconds = counted = ended.wall_seconds
            if key:
                self._copies.keep(key, folder)
        cutoff = limits.cutoff_seconds
        left = replace(
            limits,
            timeout_seconds=max(0.0, limits.timeout_seconds - counted),
            cutoff_seconds=None if cutoff is None else max(0.0, cutoff - counted),
            held_from=benchmark.held_from,
            settled=lambda: benchmark.settled(folder),
        )
        conditions, cpu_seconds = Conditions(folder, mark, probe=self._settings.speed_probe), 0.0
        try:
            began = time.time()
            ended = yield spawn(argv, folder, left)
            cpu_seconds = ended.cpu_seconds
        finally:
            found = conditions.end(cpu_seconds)
        if ended.ending is not Ending.EXIT:
            found = {}  # of what its killed children used nobody knows
        outcome = benchmark.harvest(configuration, folder, ended, began)
        # One that failed has no metrics; what a benchmark says itself stands.
        metrics = outcome.metrics and {**outcome.metrics, **found, **outcome.metrics}
        outcome = replace(outcome, metrics=metrics)
        for following in benchmark.following(configuration, folder, outcome, reads=reads):
            make_private_folder(following.outputs)
            following.begin()
            # It is no part of what is measured: no cut-off is meant for it.
            whole = replace(limits, cutoff_seconds=None)
            ended = yield spawn(following.argv(), following.outputs, whole)
            outcome = following.finish(outcome, ended)
        return replace(outcome, bench_seconds=outcome.bench_seconds + prepared_seconds)

    def _spawn(
        self, argv: list[str], outputs: Path, limits: Limits, mark: Mapping[str, str], lock: int
    ) -> BenchProcess:
        try:
            return BenchProcess(
                argv,
                folder=outputs,
                work_in=Path.cwd(),
                environment={**self._benchmark.environment(), **mark},
                limits=limits,
                keep_open=(lock,),
            )
        except OSError as error:
            raise InputError("benchmark", f"cannot be started: {error}") from None
