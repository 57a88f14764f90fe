"""A server that is lost in the middle of a commit: whether it arrived, nobody knows."""

import itertools
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine

LOST = "server closed the connection unexpectedly"


def lose(
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    which: Callable[[int], bool],
    *,
    arrives: bool,
) -> list[int]:
    """Breaks the connection at the commits that ``which`` picks; returns their numbers."""
    real = engine.dialect.do_commit
    numbers, broken = itertools.count(1), []

    def do_commit(connection: Any) -> None:
        number = next(numbers)
        if not which(number):
            real(connection)
            return
        if arrives:
            real(connection)
        broken.append(number)
        connection.dbapi_connection.close()
        raise psycopg.OperationalError(LOST)

    monkeypatch.setattr(engine.dialect, "do_commit", do_commit)
    return broken
