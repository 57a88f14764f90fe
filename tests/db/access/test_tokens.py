import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select

from db.access.tokens import (
    Role,
    any_valid_token,
    find_token,
    list_tokens,
    make_token,
    open_session,
    revoke_token,
    token_of_session,
)
from db.connection.engine import make_engine, reading
from db.connection.migrate import upgrade_tables
from db.schema.tables import browser_session
from db.schema.tables import token as table
from sampler.common.errors import InputError
from tests.support.db.server_clock import Clock, server_clock
from tests.support.db.threads import at_once

__all__ = ["server_clock"]


def test_each_role_may_do_what_those_before_it_may():
    allowed = {role: [needed for needed in Role if role.may(needed)] for role in Role}
    assert allowed == {
        Role.READ: [Role.READ],
        Role.SUBMIT: [Role.READ, Role.SUBMIT],
        Role.ADMIN: [Role.READ, Role.SUBMIT, Role.ADMIN],
    }


class TestAToken:
    @pytest.mark.parametrize("role", Role)
    def test_is_found_with_its_name_and_role(self, database: Engine, role: Role):
        before = datetime.now(UTC)
        made = make_token(database, "ci@build-1.example", role)
        found = find_token(database, made)
        assert (found.name, found.role, found.revoked_at) == ("ci@build-1.example", role, None)
        assert before <= found.created_at <= datetime.now(UTC)
        assert made.split("_")[1] == found.id

    def test_is_invalid_from_the_moment_when_it_is_revoked(self, database: Engine):
        one, two = (make_token(database, name, Role.READ) for name in ("one", "two"))
        revoke_token(database, "one")
        assert find_token(database, one) is None
        assert find_token(database, two) is not None
        kept = {row.name: row.revoked_at for row in list_tokens(database)}
        assert kept["one"] is not None and kept["two"] is None

    def test_can_be_revoked_by_its_id(self, database: Engine):
        made = make_token(database, "one", Role.READ)
        revoke_token(database, made.split("_")[1])
        assert find_token(database, made) is None

    @pytest.mark.parametrize("name", ["one", "never"])
    def test_that_is_not_valid_cannot_be_revoked(self, database: Engine, name: str):
        make_token(database, "one", Role.READ)
        revoke_token(database, "one")
        with pytest.raises(InputError, match=f"there is no valid token '{name}'"):
            revoke_token(database, name)

    def test_of_another_secret_is_none(self, database: Engine):
        one, two = (make_token(database, name, Role.READ) for name in ("one", "two"))
        tail = two[len("rt_") + 13 :]
        assert len(tail) == 43
        mixed = f"rt_{one[3:15]}_{tail}"
        assert find_token(database, mixed) is None
        flipped = one[:-1] + ("A" if one[-1] != "A" else "B")
        assert find_token(database, flipped) is None

    @pytest.mark.parametrize(
        "given",
        [
            "", "rt_", "rt__", "x", "{0}x", "{0}\n", " {0}", "{0} ", "Bearer {0}", "RT{0}",
            "rt_" + 2 * "\u0660\u0661\u0662\u0663\u0664\u0665" + "_" + "a" * 43,
            "rt_000000000000_" + "a" * 43, "rt_000000000000_" + "\0" * 43,
            "rt_000000000000_" + "\u00e9" * 43, "rt_' OR 1=1 --_" + "a" * 43, "{0}" * 1000,
        ],
    )  # fmt: skip
    def test_that_is_malformed_or_unknown_is_none(self, database: Engine, given: str):
        made = make_token(database, "one", Role.ADMIN)
        assert find_token(database, given.replace("{0}", made)) is None
        assert find_token(database, made) is not None


class TestNames:
    def test_are_unique_among_those_that_are_valid(self, database: Engine):
        first = make_token(database, "ci", Role.READ)
        with pytest.raises(InputError, match=r"name: token 'ci' exists; revoke it"):
            make_token(database, "ci", Role.ADMIN)
        revoke_token(database, "ci")
        second = make_token(database, "ci", Role.ADMIN)
        assert find_token(database, first) is None
        assert find_token(database, second) is not None
        assert [row.name for row in list_tokens(database)] == ["ci", "ci"]

    def test_of_many_who_make_one_at_once_one_does(self, database: Engine):
        for index in range(8):
            made = at_once(lambda name: make_token(database, name, Role.READ), [f"ci-{index}"] * 8)
            assert sum(isinstance(each, InputError) for each in made) == 7
            assert len(list_tokens(database)) == index + 1

    @pytest.mark.parametrize("name", ["", " ", "a b", "a\n", "x" * 65, "a/b", "\0", "<b>"])
    def test_that_are_wrong_are_refused(self, database: Engine, name: str):
        with pytest.raises(InputError, match="name: write 1 to 64 letters, digits or"):
            make_token(database, name, Role.READ)
        assert not list_tokens(database)


def test_whether_one_is_valid(database: Engine):
    assert not any_valid_token(database)
    make_token(database, "one", Role.READ)
    assert any_valid_token(database)
    revoke_token(database, "one")
    assert not any_valid_token(database)


def test_only_a_hash_of_the_secret_is_kept(database: Engine):
    made = make_token(database, "one", Role.READ)
    secret = made[len("rt_") + 13 :]
    with database.connect() as connection:
        (row,) = connection.execute(table.select())
    assert row.secret_hash == hashlib.sha256(secret.encode()).hexdigest()
    assert secret not in repr(row)
    assert secret not in repr(list_tokens(database))


def test_the_secret_is_nowhere_in_the_files(tmp_path: Path):
    engine = make_engine(tmp_path / "a.db")
    upgrade_tables(engine)
    made = make_token(engine, "the-name", Role.READ)
    assert find_token(engine, made) is not None

    def kept() -> bytes:
        return b"".join(path.read_bytes() for path in tmp_path.iterdir())

    with_log = kept()
    engine.dispose()
    for content in (with_log, kept()):
        assert b"the-name" in content
        assert made[len("rt_") + 13 :].encode() not in content


HOUR = timedelta(hours=1)


@pytest.fixture
def token_id(database: Engine) -> str:
    found = find_token(database, make_token(database, "ci", Role.READ))
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
