"""One trial at a time on this machine: lock, folder, processes, outcome; nothing stays behind.

``Benchmark`` is what the runner needs of a benchmark: a command line, perhaps a ``Stage`` before
it and some after it, and an outcome. ``Conditions`` tell what else the machine did during a run,
and how fast it was. They are no results: they explain why a run was fast or slow, and time-based
metrics are corrected by them.
"""

import contextlib
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Protocol

from sampler.bench.bench_folder import (
    PreparedCopies,
    remove_leftovers,
    require_space,
    trial_folder,
)
from sampler.bench.host_lock import MARK, host_lock
from sampler.bench.outcome import EndedProcess, Ending, Outcome, TrialState
from sampler.bench.process import BenchProcess, Limits, tied
from sampler.bench.settings import Settings
from sampler.common.atomic_write import make_private_folder
from sampler.common.errors import InputError
from sampler.machine import speed_probe
from sampler.machine.host_load import CpuMoment, others_demand, read_moment
from sampler.machine.machine import kill_marked, seen_processes
from sampler.space.space import Configuration
from sampler.workload.metric_table import MACHINE

_END_SECONDS = 2.0  # the probe ends within 20 ms of being told
_MOST_AGAIN = 2


class Stage:
    """A process of a trial beside the one that is measured: before it, or after it.

    One before prepares the database. One after looks at what the measured one left.
    """

    held_from: str | None = None  # as that of a ``Benchmark``

    @property
    def outputs(self) -> Path:
        """The folder for its ``stdout`` and ``stderr``, yet to be made."""
        raise NotImplementedError

    def key(self) -> str | None:
        """The same for all trials in which it would leave the same; None: never shared."""
        return None

    def begin(self) -> None:
        """Readies what it works on, right before it starts."""

    def argv(self) -> list[str]:
        """Its command line."""
        raise NotImplementedError

    def settled(self) -> bool:
        """Whether nothing is left to do; asked while its output is held back."""
        return False

    def finish(self, ended: EndedProcess, outcome: Outcome | None) -> Outcome | None:
        """The trial's outcome with what it found; ``outcome`` is that so far.

        Before the measured process there is none: None then means that what it left can be
        measured.
        """
        raise NotImplementedError


class Benchmark(Protocol):
    """Makes a command line of a configuration, and an outcome of what the command left.

    Who names it as its base needs to have no more than is abstract here: by itself nothing runs
    before or after the command, and nothing of it is held back.
    """

    @property
    def timeout_seconds(self) -> float:
        """A trial that takes longer, its preparation included, is ``timed_out``."""

    @property
    def space_bytes(self) -> int:
        """Free bytes that a trial needs."""

    def prepare(self, configuration: Configuration, folder: Path) -> list[str]:
        """Writes what the command reads into the trial's folder and returns the command line."""

    def preparing(self, configuration: Configuration, folder: Path) -> Stage | None:
        """What must run before the command; None: nothing."""
        del configuration, folder
        return None

    def environment(self) -> Mapping[str, str]:
        """The environment of all of them."""
        return os.environ

    @property
    def held_from(self) -> str | None:
        """The words from which on the command's output is held back, until it is at rest.

        None: it ends by itself.
        """
        return None

    def settled(self, folder: Path) -> bool:
        """Whether nothing is left to do; asked while the command's output is held back."""
        del folder
        return False

    def harvest(self, configuration: Configuration, folder: Path, ended: EndedProcess) -> Outcome:
        """What the run came to."""

    def following(
        self, configuration: Configuration, folder: Path, outcome: Outcome, *, reads: int
    ) -> Sequence[Stage]:
        """What runs after the command, one after the other, for figures that it does not tell.

        ``reads``: in how many rounds reads of the database are measured, where they can be.
        """
        del configuration, folder, outcome, reads
        return ()


class Conditions:
    """Looks on from its making to its end. Whatever fails, a reading is left out, no run is.

    The probe ends with its standard input, and so with who started it. It is tied to the thread,
    too, for another process may hold that pipe open.
    """

    def __init__(self, folder: Path, mark: Mapping[str, str], *, probe: bool) -> None:
        """Begins to look on, before the process is started that is measured.

        The ``probe``, unless the speed is not to be measured, writes to the folder and has the
        variables of ``mark``, by which it is found.
        """
        self._first = _moment()  # before the probe, whose waiting is nobody's
        self._probe: subprocess.Popen[str] | None = None
        # A frozen program has no interpreter: it would start itself.
        python = None if getattr(sys, "frozen", False) else sys.executable
        with contextlib.suppress(OSError), TemporaryFile(dir=folder) as file:
            if probe and python:
                self._probe = subprocess.Popen(
                    tied(python, "-I", "-S", speed_probe.__file__, str(file.fileno())),
                    # Not the benchmark's, which may preload or replace libraries.
                    env={"PATH": os.environ.get("PATH", os.defpath), **mark},
                    text=True, start_new_session=True, pass_fds=(file.fileno(),),
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                )  # fmt: skip

    def end(self, cpu_seconds: float = 0.0) -> dict[str, float]:
        """The readings by metric, as far as they are known; call it once.

        ``cpu_seconds`` were used by the process that was measured.
        """
        last = _moment()
        speed: list[float] = []
        with contextlib.suppress(ValueError):
            *speed, own = map(float, self._told().split())
            cpu_seconds += own
        others = others_demand(self._first, last, cpu_seconds) if self._first and last else None
        found = dict(zip(MACHINE, (others, *speed), strict=False))
        return {name: value for name, value in found.items() if value is not None}

    def _told(self) -> str:
        """What the probe says, which is no more."""
        if self._probe is None:
            return ""
        try:
            return self._probe.communicate(timeout=_END_SECONDS)[0]
        except (OSError, subprocess.TimeoutExpired):
            return ""
        finally:
            self._probe.kill()
            # One that waits for a broken disk cannot be killed: the trial goes on without it.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._probe.wait(_END_SECONDS)
            for pipe in (self._probe.stdin, self._probe.stdout):
                with contextlib.suppress(OSError):
                    if pipe:
                        pipe.close()


def _moment() -> CpuMoment | None:
    """The counters now; None where /proc holds something else than is known of."""
    try:
        return read_moment()
    except (OSError, ValueError, IndexError):
        return None


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
        reads: int = 0,
    ) -> None:
        """Begins a trial, when the host is free.

        Args:
            configuration: What is measured.
            cutoff_seconds: After it the trial is cut off; None: never.
            share: Whether a database that must be prepared may be a copy of one that was prepared
                alike. What is to be independent evidence prepares its own.
            reads: In how many rounds reads of the database that it leaves are measured; 0: none.

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
            before = seen_processes()
            processes = self._processes(
                configuration, folder, limits, {MARK: token}, lock, share=share, reads=reads
            )
            running = next(processes)
            # What left the process group is found by its environment, and ended too.
            closing.callback(kill_marked, MARK, token, before)
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
        reads: int = 0,
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
        reads: int,
    ) -> Generator[BenchProcess, EndedProcess, Outcome]:
        """What prepares a trial's database, what is measured, and what follows, one by one.

        Those that prepare and measure share the limits. All have the ``mark`` in their environment
        and keep the ``lock`` open.
        """
        benchmark, spawn = self._benchmark, partial(self._spawn, mark=mark, lock=lock)

        def begun(stage: Stage, limits: Limits) -> BenchProcess:
            make_private_folder(stage.outputs)
            stage.begin()
            return spawn(stage.argv(), stage.outputs, limits)

        argv = benchmark.prepare(configuration, folder)
        preparation = benchmark.preparing(configuration, folder)
        key = preparation.key() if preparation and share else None
        copied = self._copies.take(key, folder) if key else None
        # What preparing took here, and what it counts for in the limits: the same for a copy, so
        # that a configuration is cut off or not whether its database was there or not.
        prepared_seconds, counted = 0.0, copied.seconds if copied else 0.0
        if preparation and not copied:
            held = replace(limits, held_from=preparation.held_from, settled=preparation.settled)
            ended = yield begun(preparation, held)
            failed = preparation.finish(ended, None)
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
            ended = yield spawn(argv, folder, left)
            cpu_seconds = ended.cpu_seconds
        finally:
            found = conditions.end(cpu_seconds)
        if ended.ending is not Ending.EXIT:
            found = {}  # of what its killed children used nobody knows
        outcome = benchmark.harvest(configuration, folder, ended)
        # One that failed has no metrics; what a benchmark says itself stands.
        metrics = outcome.metrics and {**outcome.metrics, **found, **outcome.metrics}
        outcome = replace(outcome, metrics=metrics)
        for stage in benchmark.following(configuration, folder, outcome, reads=reads):
            # It is no part of what is measured: no cut-off is meant for it.
            ended = yield begun(stage, replace(limits, cutoff_seconds=None))
            outcome = stage.finish(ended, outcome) or outcome
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
