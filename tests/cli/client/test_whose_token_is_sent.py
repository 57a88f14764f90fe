"""Which token the terminal sends to whom."""

from collections.abc import Callable
from pathlib import Path

import pytest

from db.access.tokens import keep_token, make_private_folder, new_token, place_of_token
from tests.support.cli.client_scene import Answer, Asked, stub

Client = Callable[..., int]
Capture = pytest.CaptureFixture[str]
JSON = {"Content-Type": "application/json"}
PROBLEM = {"Content-Type": "application/problem+json"}
REFUSED = (
    b'{"type":"about:blank","title":"Unauthorized","status":401,"errors":[],'
    b'"detail":"the token is unknown or revoked"}'
)


def no_jobs(_: Asked) -> Answer:
    return 200, JSON, b'{"jobs": [], "next": null}'


def refuses(_: Asked) -> Answer:
    return 401, PROBLEM, REFUSED


@pytest.fixture
def kept(here: Client, tmp_path: Path) -> str:
    """The token of this machine's own server, where terminal commands look for it."""
    assert here, "the environment is that of its user"
    token = new_token()
    path = place_of_token()
    assert path.is_relative_to(tmp_path), "not the user's own"
    make_private_folder(path)
    keep_token(path, token)
    return token


def test_the_file_s_token_goes_to_a_service_on_this_machine(client: Client, kept: str) -> None:
    with stub(no_jobs) as served:
        for host in ("127.0.0.1", "localhost"):
            url = served.url.replace("127.0.0.1", host)
            assert client("jobs", url=url) == 0
    assert {each.headers["Authorization"] for each in served.asked} == {f"Bearer {kept}"}


def test_what_is_set_goes_before_the_file(client: Client, kept: str) -> None:
    assert kept
    with stub(no_jobs) as served:
        assert client("jobs", url=served.url, ROCKTUNE_TOKEN="rt_of_mine") == 0
    assert [each.headers["Authorization"] for each in served.asked] == ["Bearer rt_of_mine"]


@pytest.mark.slow
def test_the_file_s_token_goes_to_this_machine_alone(client: Client, kept: str) -> None:
    """All that leaves this machine comes by a proxy here; what stays on it must not."""
    with stub(no_jobs) as proxy:
        proxies = {"HTTP_PROXY": proxy.url, "http_proxy": proxy.url}
        for host in (
            "tuning.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.1.2.3",
        ):
            assert client("jobs", url=f"http://{host}", **proxies) == 0
            assert "Authorization" not in proxy.asked[-1].headers, host
        assert kept not in repr(proxy.asked)
        seen = len(proxy.asked)
        for here in ("127.0.0.2:1", "[::1]:1", "localhost:1"):
            assert client("jobs", url=f"http://{here}", **proxies) == 1
        assert len(proxy.asked) == seen, "what is for this machine is asked for through no proxy"


def test_a_file_of_another_service_is_named_where_it_is_refused(
    client: Client, kept: str, capsys: Capture
) -> None:
    with stub(refuses) as served:
        assert client("jobs", url=served.url) == 2
    said = capsys.readouterr().err
    assert f"the token in {place_of_token()} is for another service" in said
    assert kept not in said


def test_a_file_that_others_can_read_is_sent_to_nobody(
    client: Client, kept: str, capsys: Capture
) -> None:
    place_of_token().chmod(0o644)
    with stub(no_jobs) as served:
        assert client("jobs", url=served.url) == 2
    assert served.asked == []
    said = capsys.readouterr().err
    assert "other users can access" in said and kept not in said


class TestTokenShow:
    def test_prints_it(self, client: Client, kept: str, capsys: Capture) -> None:
        assert client("token", "show") == 0
        assert capsys.readouterr().out == f"{kept}\n"
        assert client("token", "show", "--token-file", place_of_token()) == 0
        assert capsys.readouterr().out == f"{kept}\n"

    def test_says_where_there_is_none(self, client: Client, capsys: Capture) -> None:
        assert client("token", "show") == 2
        said = capsys.readouterr().err
        assert f"--token-file: there is no {place_of_token()}; start `rocktune serve`" in said
