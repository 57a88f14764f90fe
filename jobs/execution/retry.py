"""Waiting for a database that is away: a finished trial is held and written later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection

from db.connection.engine import full_disk, redacted
from optimizer.run.ports import TrialLog
from optimizer.trials.trial import Trial
from sampler.runner.outcome import TrialState

if TYPE_CHECKING:
    from optimizer.run.progress import RunProgress

P = ParamSpec("P")
T = TypeVar("T")
_FIRST_WAIT, _LONGEST_WAIT = 0.25, 5.0


def is_away(error: BaseException, engine: Engine) -> bool:
    """Whether an error says that the server cannot be used just now, and nothing worse.

    A file has no server that could come back: what SQLite complains about is to be told at once.
    """
    if engine.dialect.name != "postgresql":
        return False
    if isinstance(error, DBAPIError):
        broken = isinstance(error, OperationalError | InterfaceError)
        return broken or error.connection_invalidated
    return isinstance(error, NoConnection)


@contextmanager
def unless_away(engine: Engine, told: Callable[[str], object] = lambda _: None) -> Iterator[None]:
    """Lets what the block does go undone while the database is away, and then tells so."""
    try:
        yield
    except Exception as error:
        if not is_away(error, engine):
            raise
        told(full_disk(error, engine.url) or "the database does not answer")


class Retry:
    """Does things as often as it takes until the database has answered."""

    def __init__(
        self, engine: Engine, *, pause: Callable[[float], None], told: Callable[[str], None]
    ) -> None:
        """Binds it to a database.

        ``pause`` waits for some seconds, and may raise to give up. ``told`` hears that the
        database is away and why, each reason once, and when it is back.
        """
        self._engine, self._pause, self._told = engine, pause, told

    def __call__(self, action: Callable[[], T]) -> T:
        """What the action returns."""
        wait, reasons, url = _FIRST_WAIT, set[str](), self._engine.url
        while True:
            try:
                done = action()
            except Exception as error:
                if not is_away(error, self._engine):
                    raise
                if not reasons:
                    what = full_disk(error, url) or "the database does not answer"
                    self._told(f"{what}; finished trials are kept in memory")
                why = redacted(str(getattr(error, "orig", None) or error), url)
                if why not in reasons:
                    self._told(f"database error: {why}")
                reasons.add(why)
                self._pause(wait)
                wait = min(2 * wait, _LONGEST_WAIT)
            else:
                if reasons:
                    self._told("the database answers again")
                return done

    def each(self, action: Callable[P, T]) -> Callable[P, T]:
        """The action, each call of it done as often as it takes."""

        def retried(*given: P.args, **more: P.kwargs) -> T:
            return self(lambda: action(*given, **more))

        return retried


class RetryingLog:
    """A log of trials that waits for its database; see ``optimizer.run.ports.TrialLog``.

    A commit may have arrived though its answer did not. To write the same twice changes nothing,
    but for outcomes: then the second attempt finds the trial ended, and that is as it should be.
    """

    def __init__(self, log: TrialLog, retry: Retry) -> None:
        self._log, self._retry = log, retry
        self.trials, self.propose = retry.each(log.trials), retry.each(log.propose)
        self.enter = retry.each(log.enter)
        self.remember, self.recall = retry.each(log.remember), retry.each(log.recall)

    def finish(self, trial: Trial, standing: RunProgress | None = None) -> None:
        """Keeps an outcome, once."""
        self._once(lambda: self._log.finish(trial, standing), [trial])

    def withdraw(self, trials: Sequence[Trial], why: str) -> None:
        """Takes ended trials back, once."""
        lost = [replace(each, state=TrialState.LOST) for each in trials]
        self._once(lambda: self._log.withdraw(trials, why), lost)

    def _once(self, write: Callable[[], None], then: Sequence[Trial]) -> None:
        tries = 0

        def attempt() -> None:
            nonlocal tries
            tries += 1
            try:
                write()
            except ValueError:
                kept = {(each.number, each.attempt, each.state) for each in self._log.trials()}
                if tries == 1 or not {(t.number, t.attempt, t.state) for t in then} <= kept:
                    raise

        self._retry(attempt)
