"""The service speaks HTTP: whoever opens it to others is told what that means for tokens."""

import json
from pathlib import Path

import pytest

from db.access.tokens import Role, make_token
from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from tests.support.api.real_server import real_server


@pytest.fixture
def database_file(tmp_path: Path) -> Path:
    """A database that nobody has a token of."""
    engine = make_engine(tmp_path / "rocktune.db")
    upgrade_tables(engine)
    engine.dispose()
    return tmp_path / "rocktune.db"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("host", "variables", "warned"),
    [
        ("127.0.0.1", {}, False),
        ("0.0.0.0", {}, True),
        ("0.0.0.0", {"ROCKTUNE_BEHIND_TLS": "1"}, False),
        ("0.0.0.0", {"ROCKTUNE_BEHIND_TLS": "0"}, True),
    ],
)
def test_listening_beyond_loopback_without_tls_is_warned_of_once(
    database_file: Path, tmp_path: Path, host: str, variables: dict[str, str], warned: bool
) -> None:
    engine = make_engine(database_file)
    make_token(engine, "ci", Role.READ)
    engine.dispose()
    with real_server(database_file, tmp_path, host=host, **variables):
        pass
    lines = [json.loads(line) for line in (tmp_path / "server.log").read_text().splitlines()]
    told = [line for line in lines if line["level"] == "warning"]
    assert len(told) == warned
    for line in told:
        assert "tokens cross the network unencrypted" in line["event"]
        assert "ROCKTUNE_BEHIND_TLS=1" in line["event"]
        assert line["host"] == host
