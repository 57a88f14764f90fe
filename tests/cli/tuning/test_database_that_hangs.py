"""A PostgreSQL whose processes are stopped: it answers nobody, and its kernel acknowledges all."""

import pytest

from db.connection.engine import make_engine
from sampler.common.errors import InputError
from tests.support.cli.launched import Zygote
from tests.support.cli.strained_database import (
    HELD_AT,
    check_whole,
    held_in_the_middle,
    server,
    url,
)
from tests.support.cli.terminal import Desk
from tests.support.db.private_server import PrivateServer
from tests.support.jobs.instant import ended_within, pidfd
from tests.support.jobs.service_desk import wait_until

pytestmark = pytest.mark.postgres

__all__ = ["server", "url"]


def test_a_job_waits_as_long_as_it_is_stopped_and_loses_nothing(
    desk: Desk, zygote: Zygote, server: PrivateServer, url: str
):
    pid = held_in_the_middle(desk, zygote, url)
    runs = desk.folder / "runs"
    log = desk.folder / "log"
    with server.stopped():
        (desk.folder / "go").write_text("on\n")
        wait_until(lambda: server.unread() > 0, seconds=60, what="the job asks the server")
        # Whoever comes new is told, after seconds of waiting.
        with pytest.raises(InputError, match="db: cannot use "):
            make_engine(url)
        with pidfd(pid) as process:
            assert process is not None and not ended_within(process, 0), "the job waits"
        assert runs.read_text().count("run") == HELD_AT, "and begins nothing"
        assert "does not answer" not in log.read_text()
    assert zygote.wait(pid) in (0, 3), log.read_text()
    assert "Traceback" not in log.read_text()
    check_whole(desk, url)
