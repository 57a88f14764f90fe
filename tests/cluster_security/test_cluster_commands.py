import logging
import resource
import signal
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cli.main import main
from jobs.cluster.certificates import make_set
from tests.support.cluster.small_cluster import scheduler


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process of one's own: nothing set before, nothing changed after."""
    monkeypatch.delenv("ROCKTUNE_CERTIFICATES", raising=False)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def run(*arguments: object) -> int:
    return main(["cluster", *map(str, arguments)])


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_scheduler_ends_quietly_and_leaves_nothing(
    tmp_path: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with scheduler(tmp_path, "--address-file", "address") as started:
        assert started.address().startswith("tcp://127.0.0.1:")
        assert (tmp_path / "address").read_text().strip() == started.address()
        started.process.send_signal(number)
        assert started.process.wait(30) == 0
        assert [event["event"] for event in started.events()] == ["listening"]
        assert "Traceback" not in started.log.read_text()
    assert list(temporary.iterdir()) == []


def test_a_port_in_use_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run("scheduler", "--port", port) == 2
    assert capsys.readouterr().err == (
        f"rocktune: --port: {port} is in use on 127.0.0.1; choose another port\n"
    )


def test_an_address_of_another_machine_is_one_clear_line(
    certificates: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # 192.0.2.0/24 is for documentation; so is .invalid: neither is this machine.
    for host in ("192.0.2.77", "no-such-host.invalid"):
        assert run("scheduler", "--host", host, "--certificates", certificates) == 2
        told = capsys.readouterr().err
        assert told == f"rocktune: --host: {host!r} is not an address of this machine\n"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--host", "0.0.0.0"], "--host: '0.0.0.0' is reachable from other machines"),
        (["--host", ""], "--host: give an address"),
        (["--certificates", "nowhere"], "--certificates: there is no 'nowhere/authority.pem'"),
        (["--port", "99999"], "--port"),
        (["--ttl", "1"], "--ttl"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("scheduler", *arguments) == 2
    told = capsys.readouterr().err
    assert why in told
    assert told.count("\n") == 1


def test_a_set_is_made_shown_and_renewed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "set"
    assert run("certificates", folder, "--name", "bench.example", "--days", "40") == 0
    made = capsys.readouterr()
    assert made.err == ""
    assert [line.split()[0] for line in made.out.splitlines()] == [
        "authority.pem", "scheduler.pem", "host.pem", "controller.pem", "authority.key",
    ]  # fmt: skip
    assert run("certificates", folder) == 0
    assert capsys.readouterr().out == made.out

    assert run("certificates", folder, "--days", "900") == 2
    assert "already holds a set; add --renew" in capsys.readouterr().err
    assert run("certificates", folder, "--renew", "--days", "20") == 0
    assert "host.pem expires in 19 days" in capsys.readouterr().err
    assert run("certificates", folder) == 0
    (folder / "authority.key").unlink()
    assert run("certificates", folder) == 0
    assert "authority.key" not in capsys.readouterr().out.splitlines()[-1]


def test_one_that_has_ended_is_status_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_set(tmp_path / "set", days=1, now=datetime.now(UTC) - timedelta(days=2))
    assert run("certificates", tmp_path / "set") == 3
    told = capsys.readouterr()
    assert told.out.count("expired on") == 3
    assert "--renew" in told.err
