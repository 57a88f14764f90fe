"""What nobody foresaw ends a command with one line; the database is blamed if it is to blame."""

import sqlite3

import pytest
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError, StatementError

from cli import main as terminal
from cli.options.exits import Exit

STATEMENT = "SELECT secret FROM trial"


def told(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    def fails(*_given: object, **_more: object) -> None:
        raise error

    monkeypatch.delenv("ROCKTUNE_DEBUG", raising=False)
    monkeypatch.setattr(terminal, "app", fails)
    assert terminal.main(["jobs"]) == Exit.TOOL_FAILED
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("(set ROCKTUNE_DEBUG=1 for the traceback)")
    return line


@pytest.mark.parametrize("kind", [OperationalError, DatabaseError])
def test_a_database_that_fails_says_so_in_its_own_words(
    kind: type[DatabaseError],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    error = kind(STATEMENT, {}, sqlite3.OperationalError("disk I/O error"))
    line = told(error, monkeypatch, capsys)
    assert line.startswith("rocktune: --db: the database failed: disk I/O error; ")
    assert "--resume" in line and "secret" not in line and "http" not in line


@pytest.mark.parametrize(
    "error",
    [
        IntegrityError(STATEMENT, {}, sqlite3.IntegrityError("UNIQUE constraint failed")),
        StatementError("cannot be bound", STATEMENT, {}, TypeError("not serializable")),
        ZeroDivisionError("division by zero"),
    ],
)
def test_a_fault_of_ours_is_not_blamed_on_the_database(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    line = told(error, monkeypatch, capsys)
    assert line.startswith(f"rocktune: failed: {type(error).__name__}: ")
    assert "--db" not in line
