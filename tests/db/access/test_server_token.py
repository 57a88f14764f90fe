import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Engine

from db.access.tokens import (
    Role,
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
from tests.support import ROOT


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
        ready = threading.Barrier(6)

        def at_once(name: str, ready: threading.Barrier = ready) -> bool:
            ready.wait()
            return admit_token(database, new_token(), name)

        with ThreadPoolExecutor(6) as threads:
            assert all(threads.map(at_once, [f"serve@{index}"] * 6))
    names = [row.name for row in list_tokens(database)]
    assert len(set(names)) == len(names) == 48


_START = """
import sys
from pathlib import Path
from db.access.tokens import server_token
from db.connection.engine import make_engine
engine = make_engine(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
found = server_token(engine, Path(sys.argv[2]))
print(found.text, found.is_new)
"""


@pytest.mark.slow
def test_of_servers_that_start_at_once_one_makes_it_and_all_work(
    database: Engine, database_url: str, path: Path
):
    servers = [
        subprocess.Popen(
            [sys.executable, "-c", _START, database_url, str(path)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(4)
    ]  # fmt: skip
    for each in servers:
        assert each.stdout is not None and each.stdout.readline() == "ready\n"
    for each in servers:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    told = [each.communicate(timeout=120)[0].split() for each in servers]
    assert len({text for text, _ in told}) == 1
    assert sum(new == "True" for _, new in told) == 1
    assert find_token(database, told[0][0]) is not None
    assert len(list_tokens(database)) == 1
