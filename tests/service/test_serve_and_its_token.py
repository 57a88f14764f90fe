"""`rocktune serve` makes its own token: what it says of it, and where."""

import re
from pathlib import Path

import httpx2
import pytest

from db.access.tokens import Role, make_token
from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from tests.support.cli.client_scene import on_terminal
from tests.support.cli.launched import ROCKTUNE, forked
from tests.support.jobs.service_desk import ServiceDesk

pytestmark = pytest.mark.slow


@pytest.fixture
def desk(tmp_path: Path) -> ServiceDesk:
    return ServiceDesk(tmp_path, str(tmp_path / "rocktune.db"), launch=forked)


def serve(desk: ServiceDesk) -> str:
    """What a start says, once somebody has asked."""
    with desk.running("serve", "--no-worker", "--port", "0") as server:
        url = server.address()
        assert desk.call("GET", f"{url}/v1/jobs") == {"jobs": [], "next": None}
        assert httpx2.get(f"{url}/v1/jobs", timeout=60).status_code == 401
        server.stop()
        return server.log.read_text()


def test_the_first_start_prints_a_link_and_the_next_does_not(desk: ServiceDesk) -> None:
    first = serve(desk)
    token = desk.token_file.read_text().strip()
    assert desk.token_file.stat().st_mode & 0o777 == 0o600
    (link,) = re.findall(r"^Log in: (http://127\.0\.0\.1:\d+/login\?token=\S+)$", first, re.M)
    assert link.endswith(f"={token}")
    assert first.count(token) == 1, "and it is in no line of the log"
    again = serve(desk)
    assert token not in again and "`rocktune token show` prints" in again
    assert desk.token_file.read_text().strip() == token
    shown = desk.folder / "shown"
    asked = forked([str(ROCKTUNE), "token", "show"], desk.variables(), desk.folder, shown)
    assert (asked.wait(60), shown.read_text()) == (0, f"{token}\n")
    serving = ("serve", "--no-worker", "--port", "0", "--db", desk.url)
    with on_terminal(desk.variables(), *serving) as run:
        run.sees(f"/login?token={token}")


def test_where_no_token_can_be_kept_those_that_were_made_go_on_working(tmp_path: Path) -> None:
    nowhere = {"XDG_DATA_HOME": "/dev/null/nowhere", "ROCKTUNE_TOKEN_FILE": ""}
    at = str(tmp_path / "rocktune.db")
    desk = ServiceDesk(tmp_path, at, environment=nowhere, launch=forked)
    refused = desk.start("serve", "--no-worker", "--port", "0")
    assert refused.process.wait(120) == 2
    assert "--token-file: cannot create the folder /dev/null/nowhere/rocktune" in (
        refused.log.read_text()
    )
    engine = make_engine(desk.url)
    upgrade_tables(engine)
    token = make_token(engine, "ci", Role.READ)
    engine.dispose()
    with desk.running("serve", "--no-worker", "--port", "0") as server:
        headers = {"Authorization": f"Bearer {token}"}
        assert (
            httpx2.get(f"{server.address()}/v1/jobs", headers=headers, timeout=60).status_code
            == 200
        )
        assert server.said("the server has no token of its own") is not None
