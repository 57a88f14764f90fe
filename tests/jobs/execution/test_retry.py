"""What is told of a database that is away: each reason once, and that it is back."""

from collections.abc import Callable

from sqlalchemy import create_engine
from sqlalchemy.exc import OperationalError

from jobs.execution.held_job import Retry


def failing(*reasons: str) -> Callable[[], str]:
    """An action that meets the reasons one after the other, and then ends well."""
    left = list(reasons)

    def action() -> str:
        if left:
            raise OperationalError("SELECT 1", None, Exception(left.pop(0)))
        return "done"

    return action


def told_of(action: Callable[[], str]) -> list[str]:
    """What is said until the action has ended; nothing connects, and nothing waits."""
    told: list[str] = []
    engine = create_engine("postgresql+psycopg://tuner:not-to-be-told@127.0.0.1/none")
    retry = Retry(engine, pause=lambda _: None, told=told.append)
    assert retry(action) == "done"
    return told


def test_each_reason_of_an_outage_is_told_once():
    assert told_of(failing("ended", "ended", "full", "ended", "full")) == [
        "the database does not answer; finished trials are kept in memory",
        "database error: ended",
        "database error: full",
        "the database answers again",
    ]


def test_nothing_is_told_of_a_database_that_answers():
    assert told_of(failing()) == []
