"""Sessions of several servers on one database: one clock says when they end."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine, func, select

from db.access.tokens import Role, find_token, make_token, open_session, token_of_session
from db.connection.engine import reading
from db.schema.tables import browser_session
from tests.support.db.server_clock import Clock, server_clock

__all__ = ["server_clock"]

HOUR = timedelta(hours=1)


@pytest.fixture
def token_id(database: Engine) -> str:
    found = find_token(database, make_token(database, "ci", Role.READ))
    assert found is not None
    return found.id


def kept(engine: Engine) -> int:
    with reading(engine) as connection:
        return int(
            connection.execute(select(func.count()).select_from(browser_session)).scalar_one()
        )


def test_one_lasts_as_long_as_it_shall_and_is_then_cleared_away(database: Engine, token_id: str):
    over = open_session(database, token_id, lives=-HOUR)
    assert token_of_session(database, over) is None
    going = open_session(database, token_id, lives=HOUR)
    assert token_of_session(database, going) is not None
    assert kept(database) == 1


@pytest.mark.parametrize("opened", [-3 * HOUR, 3 * HOUR])
@pytest.mark.parametrize("asked", [-3 * HOUR, 3 * HOUR])
def test_one_lasts_as_long_whatever_the_clocks_of_the_servers_say(
    database: Engine, token_id: str, server_clock: Clock, opened: timedelta, asked: timedelta
):
    server_clock.set(opened)
    going = open_session(database, token_id, lives=HOUR)
    over = open_session(database, token_id, lives=-HOUR)
    server_clock.set(asked)
    assert token_of_session(database, going) is not None
    assert token_of_session(database, over) is None


@pytest.mark.parametrize("ahead", [-3 * HOUR, 3 * HOUR])
def test_a_server_with_a_wrong_clock_clears_away_what_is_over_and_no_more(
    database: Engine, token_id: str, server_clock: Clock, ahead: timedelta
):
    for lives in (-HOUR, -HOUR, HOUR):  # each but the last is cleared away by the next
        open_session(database, token_id, lives=lives)
    server_clock.set(ahead)
    open_session(database, token_id, lives=HOUR)
    assert kept(database) == 2
