import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine

from db.leases import is_dead, read_hosts, see_host, spoken, this_process_name

FIELDS = ("host", "boot", "namespace", "pid", "start")


def like_this_process(**changes: str) -> str:
    parts = dict(zip(FIELDS, this_process_name().split(":"), strict=True)) | changes
    return ":".join(parts.values())


def test_this_process_is_alive_and_always_called_the_same():
    assert this_process_name() == this_process_name()
    assert not is_dead(this_process_name())


def test_another_that_runs_is_alive():
    fields = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
    assert not is_dead(like_this_process(pid=str(os.getppid()), start=fields[19]))


def test_a_number_that_was_used_again_is_not_the_same_process():
    assert is_dead(like_this_process(start="1"))


def test_a_number_that_is_free_is_dead():
    beyond = int(Path("/proc/sys/kernel/pid_max").read_text()) + 1
    assert is_dead(like_this_process(pid=str(beyond)))


@pytest.mark.parametrize(
    "name",
    [
        like_this_process(boot="another-boot", start="1"),
        like_this_process(namespace="1", start="1"),
        "host:boot:1:not a number:5",
        "somebody",
        "",
    ],
    ids=["after a boot", "in a container", "no number", "a word", "nothing"],
)
def test_what_cannot_be_known_from_here_is_not_called_dead(name: str):
    assert not is_dead(name)


class TestASystemWithoutProc:
    @pytest.fixture(autouse=True)
    def no_proc(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def missing(path: Path, *_: object, **__: object) -> None:
            raise FileNotFoundError(path)

        monkeypatch.setattr(Path, "read_text", missing)
        monkeypatch.setattr(Path, "stat", missing)

    def test_goes_by_host_and_number(self, monkeypatch: pytest.MonkeyPatch):
        assert this_process_name().split(":")[1:3] == ["-", "-"]
        assert not is_dead(this_process_name())

        def gone(*_: object) -> None:
            raise ProcessLookupError

        monkeypatch.setattr(os, "kill", gone)
        assert is_dead(this_process_name())
        assert not is_dead(like_this_process(host="elsewhere"))

    def test_another_users_process_is_alive(self, monkeypatch: pytest.MonkeyPatch):
        def forbidden(*_: object) -> None:
            raise PermissionError

        monkeypatch.setattr(os, "kill", forbidden)
        assert not is_dead(this_process_name())


def test_it_is_spoken_of_by_number_and_host():
    assert spoken("bench-1:boot:1:4711:99") == "process 4711 on bench-1"
    assert spoken("somebody") == "somebody"


def test_hosts_are_listed_by_name_with_what_they_are(database: Engine):
    see_host(database, "bench-2", {"cpu": "Xeon", "cores": 2, "warnings": []}, 7)
    see_host(database, "bench-1", {}, None)
    first, second = read_hosts(database)
    assert (first.name, first.job_id, first.environment) == ("bench-1", None, {})
    assert (second.name, second.job_id) == ("bench-2", 7)
    assert second.environment == {"cpu": "Xeon", "cores": 2, "warnings": []}
    assert abs(second.seen_at - datetime.now(UTC)) < timedelta(minutes=1)


def test_one_that_shows_up_again_is_one_host(database: Engine):
    see_host(database, "bench", {"cores": 2}, 7)
    (before,) = read_hosts(database)
    see_host(database, "bench", {"cores": 4}, None)
    (after,) = read_hosts(database)
    assert (after.job_id, after.environment) == (None, {"cores": 4})
    assert after.seen_at > before.seen_at


def test_what_is_not_finite_is_refused(database: Engine):
    with pytest.raises(ValueError, match=r"environment\.load is inf"):
        see_host(database, "bench", {"load": float("inf")}, None)
    assert read_hosts(database) == []
