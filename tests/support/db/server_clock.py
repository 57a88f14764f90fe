"""A server whose clock is wrong, beside a PostgreSQL whose clock is right."""

from datetime import datetime, timedelta, tzinfo
from typing import Self

import pytest
from sqlalchemy import Engine

from db.access import tokens
from db.connection import engine
from db.jobs import job_queue, job_store
from db.trials import trial_log

_WRITE = (tokens, engine, job_queue, job_store, trial_log)


class Clock:
    """This process's clock, as the modules that read and write rows see it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    def set(self, ahead: timedelta) -> None:
        """From now on it is ahead of the right time by so much."""

        class Wrong(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> Self:
                return cls.fromtimestamp((datetime.now(tz) + ahead).timestamp(), tz)

        for module in _WRITE:
            self._patch.setattr(module, "datetime", Wrong, raising=False)


@pytest.fixture
def server_clock(database: Engine, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Only where server and database have two clocks: SQLite is used on one machine."""
    if database.dialect.name == "sqlite":
        pytest.skip("SQLite's clock is the machine's")
    return Clock(monkeypatch)
