"""This machine as a bench for several threads: one run works, those beside it are at their end."""

from __future__ import annotations

import secrets
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from jobs.execution.execution_backend import LocalHost
from optimizer.trials.trial import Phase, Trial
from sampler.bench.db_bench import DbBench
from sampler.common.errors import InputError
from sampler.machine.machine import host_name
from sampler.runner.host_lock import host_lock
from sampler.runner.outcome import Outcome
from sampler.runner.settings import Settings
from studies.real_search.idle_end import IdleEnd
from studies.real_search.place import Place

_FOLDER = "beside-"


@contextmanager
def whole_host(settings: Settings) -> Iterator[None]:
    """Holds the host's lock for as long as runs beside each other are its only ones.

    Raises:
        InputError: The lock cannot be opened, or a killed study would leave db_bench running: it
            does not inherit this lock.
    """
    if not shutil.which("setpriv"):
        raise InputError("--beside", "needs setpriv, of util-linux")
    settings.bench_dir.mkdir(parents=True, exist_ok=True)
    with host_lock(settings.lock, secrets.token_hex(8), waiting=print, pause=time.sleep):
        _remove_own(settings)  # of a study that was killed
        try:
            yield
        finally:
            _remove_own(settings)


def _remove_own(settings: Settings) -> None:
    for folder in settings.bench_dir.glob(f"{_FOLDER}*"):
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class _Flight:
    trial: Trial
    cutoff_seconds: float | None
    end: IdleEnd
    host: LocalHost


class BesideBench:
    """Meets ``optimizer.run.ports.Bench``; every thread has a trial of its own in flight.

    Use it within ``whole_host``.
    """

    def __init__(self, benchmark: DbBench, settings: Settings, place: Place) -> None:
        """Binds a benchmark to this machine.

        Args:
            benchmark: What is run.
            settings: Where.
            place: Where it works; one for all that shall not work at once.
        """
        self._benchmark, self._settings, self._place = benchmark, settings, place
        self._mine = threading.local()

    @property
    def name(self) -> str:
        """This machine's name."""
        return host_name()

    def start(self, trial: Trial, *, cutoff_seconds: float | None) -> None:
        """Begins to measure, when nothing else works; what is to be shown at last is alone."""
        self._start(trial, cutoff_seconds, gives_up=trial.phase is not Phase.CONFIRM)

    def wait(self, timeout: float) -> Outcome | None:
        """The outcome, or None when the trial is not over after ``timeout`` s.

        A run that worked on after it had seemed idle is made again, and then keeps the place.

        Raises:
            Closed: The study is being ended.
        """
        flight: _Flight = self._mine.flight
        self._place.require_open()
        outcome = flight.host.wait(timeout)
        if outcome is None:
            return None
        self._end()
        if not flight.end.worked_on:
            return outcome
        print(f"made again: a run of trial {flight.trial.number} was not idle yet", flush=True)
        self._start(flight.trial, flight.cutoff_seconds, gives_up=False)
        return None

    def cancel(self) -> None:
        """Ends the trial that this thread has in flight."""
        flight: _Flight | None = getattr(self._mine, "flight", None)
        if flight is not None:
            flight.host.cancel()
            self._end()

    def _start(self, trial: Trial, cutoff_seconds: float | None, *, gives_up: bool) -> None:
        benchmarks = self._benchmark.plan.workload.benchmarks
        end = IdleEnd(self._benchmark, benchmarks, self._place, gives_up=gives_up)
        # Each thread has a folder and a lock of its own: it is the study that holds the host's.
        folder = self._settings.bench_dir / f"{_FOLDER}{threading.get_native_id()}"
        folder.mkdir(parents=True, exist_ok=True)
        own = self._settings.model_copy(update={"bench_dir": folder, "lock": folder / "lock"})
        host = LocalHost(end, own, waiting=print, pause=time.sleep)
        self._place.take()
        self._mine.flight = _Flight(trial, cutoff_seconds, end, host)
        try:
            host.start(trial, cutoff_seconds=cutoff_seconds)
        except BaseException:
            self._end()
            raise

    def _end(self) -> None:
        flight: _Flight = self._mine.flight
        self._mine.flight = None
        if flight.end.has_place:
            self._place.leave()
