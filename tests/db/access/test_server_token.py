import re
from pathlib import Path

import pytest
from sqlalchemy import Engine

from db.access.tokens import (
    Role,
    ServerToken,
    admit_token,
    find_token,
    keep_token,
    list_tokens,
    make_token,
    new_token,
    read_token,
    revoke_token,
    server_token,
)
from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from tests.support.db.threads import at_once


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "token"


def test_the_first_server_makes_one_and_the_next_uses_it_again(database: Engine, path: Path):
    first = server_token(database, path)
    assert first.is_new and first.text == read_token(path)
    again = server_token(database, path)
    assert (again.text, again.is_new) == (first.text, False)
    (row,) = list_tokens(database)
    assert row.role is Role.ADMIN
    assert re.fullmatch(r"serve@[A-Za-z0-9.-]+", row.name)
    revoke_token(database, row.name)
    assert find_token(database, first.text) is None


def test_one_that_was_revoked_is_replaced_and_stays_revoked(database: Engine, path: Path):
    first = server_token(database, path)
    revoke_token(database, first.text.split("_")[1])
    second = server_token(database, path)
    assert second.is_new and second.text != first.text
    assert read_token(path) == second.text
    assert find_token(database, first.text) is None
    assert find_token(database, second.text) is not None


def test_servers_of_other_databases_share_it(database: Engine, path: Path, tmp_path: Path):
    first = server_token(database, path)
    other = make_engine(tmp_path / "other.db")
    upgrade_tables(other)
    second = server_token(other, path)
    assert (second.text, second.is_new) == (first.text, False)
    assert find_token(other, first.text) is not None
    other.dispose()


def test_one_that_the_operator_hands_in_is_taken(database: Engine, path: Path):
    path.parent.mkdir()
    given = new_token()
    keep_token(path, given)
    assert server_token(database, path).text == given
    assert find_token(database, given) is not None


def test_one_that_was_made_before_keeps_its_role(database: Engine, path: Path):
    path.parent.mkdir()
    given = make_token(database, "ci", Role.SUBMIT)
    keep_token(path, given)
    assert server_token(database, path).text == given
    assert [(row.name, row.role) for row in list_tokens(database)] == [("ci", Role.SUBMIT)]


def test_one_of_another_secret_is_not_let_in(database: Engine):
    known = make_token(database, "ci", Role.READ)
    forged = f"rt_{known.split('_')[1]}_{'A' * 43}"
    assert not admit_token(database, forged, "forged")
    assert not admit_token(database, "x", "forged")
    assert [row.name for row in list_tokens(database)] == ["ci"]


def test_names_of_valid_ones_are_not_given_twice(database: Engine):
    for _ in range(3):
        assert admit_token(database, new_token(), "serve@here")
    assert [row.name for row in list_tokens(database)] == [
        "serve@here", "serve@here.2", "serve@here.3",
    ]  # fmt: skip


def test_names_of_those_that_are_let_in_at_once_are_not_given_twice(database: Engine):
    for index in range(8):
        let_in = at_once(
            lambda name: admit_token(database, new_token(), name), [f"serve@{index}"] * 6
        )
        assert let_in == [True] * 6
    names = [row.name for row in list_tokens(database)]
    assert len(set(names)) == len(names) == 48


def test_of_servers_that_start_at_once_one_makes_it_and_all_work(
    database: Engine, database_url: str, path: Path
):
    def start(_: int) -> ServerToken:
        engine = make_engine(database_url)
        try:
            return server_token(engine, path)
        finally:
            engine.dispose()

    told = at_once(start, range(4))
    assert len({each.text for each in told}) == 1
    assert sum(each.is_new for each in told) == 1
    assert find_token(database, told[0].text) is not None
    assert len(list_tokens(database)) == 1
