"""What the client says when the service, or whatever is in its place, does not help."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.cli.client_scene import Answer, Asked, Scene, stub

Client = Callable[..., int]
Capture = pytest.CaptureFixture[str]
TOKEN = "geheim-4711"
JSON = {"Content-Type": "application/json"}
PROBLEM = {"Content-Type": "application/problem+json"}
# What a terminal would obey: colours, a new title, a line back, text from right to left.
HOSTILE = "\x1b[31mred\x1b]0;title\x07\x9b2J\r\u202e[bold]:smile:\nnext"
SHOWN = "[31mred]0;title2J [bold]:smile: next"


def job(**more: Any) -> dict[str, Any]:
    return {
        "id": 7, "state": "running", "phase": "sample", "why": "draws", "error": None,
        "priority": 0, "submitter": None, "created_at": "2026-11-21T14:00:00Z",
        "updated_at": "2026-11-21T14:00:00Z", "done": 3, "failed": 1, "total": 40,
        "best": {"trial": 2, "fitness": 12.4}, "seconds_left": 3700.0, "workload": "load",
        "space": "default", "objective": "paper", "strategy": "genetic", "run": 1, "counts": {},
        "bench_seconds": 1.0, "specification": {}, "environment": None, **more,
    }  # fmt: skip


def answering(status: int, body: Any, headers: dict[str, str] = JSON) -> Callable[..., Answer]:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda _: (status, headers, content)


def problem(status: int, detail: str, **more: Any) -> Callable[..., Answer]:
    document = {"type": "about:blank", "title": "", "status": status, "detail": detail,
                "errors": [], **more}  # fmt: skip
    return answering(status, document, PROBLEM)


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        (problem(401, "a token is required"), 2,
         "ROCKTUNE_TOKEN: a token is required; set it to a valid token"),
        (problem(403, "this needs the role submit"), 2,
         "ROCKTUNE_TOKEN: this needs the role submit"),
        (problem(404, "there is no job 7"), 2, "ID: there is no job 7"),
        (problem(409, "job 7 is done"), 2, "ID: job 7 is done"),
        (problem(413, "too large"), 2, "the request: too large"),
        (problem(422, "x", errors=[{"field": "job_id", "problem": "is none"},
                                   {"field": "space.parameter[1].low", "problem": "is high"},
                                   {"field": "stop_early", "problem": "is no bool"},
                                   {"field": "Idempotency-Key", "problem": "is short"}]), 2,
         "ID: is none; space.parameter[1].low: is high; stop_early: is no bool; "
         "Idempotency-Key: is short"),
        (problem(422, "all is wrong"), 2, "the request: all is wrong"),
        (problem(500, "internal error; see the server's log"), 1,
         "{url}: internal error; see the server's log (status 500)"),
        (problem(503, "the database does not answer; try again"), 1,
         "{url}: the database does not answer; try again"),
        (problem(404, "Not Found"), 1, "{url} is not a Rocktune service (status 404); "
         "check --url or ROCKTUNE_URL"),
        (answering(502, b"<html>", {"Content-Type": "text/html"}), 1,
         "{url} is unavailable (status 502)"),
        (answering(200, b"<html>", {"Content-Type": "text/html"}), 1,
         "{url} is not a Rocktune service (status 200); check --url or ROCKTUNE_URL"),
        (answering(200, b"{"), 1,
         "{url} is not a Rocktune service (status 200); check --url or ROCKTUNE_URL"),
        (answering(200, b"[" * 100_000), 1,
         "{url} is not a Rocktune service (status 200); check --url or ROCKTUNE_URL"),
        (answering(200, b'{"id": NaN}'), 1,
         "{url} is not a Rocktune service (status 200); check --url or ROCKTUNE_URL"),
        (answering(200, {"id": 7}), 1,
         "cannot read the answer; the service may have another version"),
        (answering(200, [1]), 1,
         "cannot read the answer; the service may have another version"),
        (answering(200, job(state="haunted")), 1,
         "cannot read the answer; the service may have another version"),
        (answering(400, [HOSTILE], PROBLEM), 1,
         "{url} is not a Rocktune service (status 400); check --url or ROCKTUNE_URL"),
        (problem(409, HOSTILE + TOKEN), 2, "ID: " + SHOWN + "***"),
        (lambda _: None, 1, "{url} did not answer: Server disconnected without sending a "
         "response"),
    ],
)  # fmt: skip
def test_one_line_and_a_status(
    client: Client, capsys: Capture, answer: Callable[..., Answer], status: int, said: str
):
    with stub(answer) as served:
        assert client("show", 7, url=served.url, ROCKTUNE_TOKEN=TOKEN) == status
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"rocktune: {said.format(url=served.url)}\n"
    assert {asked.headers["Authorization"] for asked in served.asked} == {f"Bearer {TOKEN}"}


@pytest.mark.parametrize("retry", ["30", "\x1b[2J", "soon"])
def test_when_to_come_again(client: Client, capsys: Capture, retry: str):
    _, headers, body = problem(429, "too many queued jobs")(None)
    with stub(lambda _: (429, {**headers, "Retry-After": retry}, body)) as served:
        assert client("jobs", url=served.url) == 1
    again = "; again in 30 s" if retry == "30" else ""
    assert capsys.readouterr().err == f"rocktune: {served.url}: too many queued jobs{again}\n"


def test_without_a_token_none_is_sent(client: Client, capsys: Capture):
    with stub(problem(401, "a token is required")) as served:
        assert client("jobs", url=served.url) == 2
    assert "Authorization" not in served.asked[0].headers
    assert "ROCKTUNE_TOKEN: a token is required; set it to a token" in capsys.readouterr().err


def test_a_redirection_is_not_followed(client: Client, capsys: Capture):
    """It would take the token elsewhere."""
    with stub(answering(200, job())) as elsewhere:
        headers = {"Location": f"{elsewhere.url}/v1/jobs/7"}
        with stub(lambda _: (307, headers, b"")) as served:
            assert client("show", 7, url=served.url, ROCKTUNE_TOKEN=TOKEN) == 1
    assert elsewhere.asked == []
    assert "(status 307)" in capsys.readouterr().err


def test_it_does_not_wait_for_ever(
    client: Client, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    reading, writing = os.pipe()
    monkeypatch.setattr("cli.client.remote._ANSWER_SECONDS", 0.2)

    def never(_: Asked) -> None:
        os.read(reading, 1)

    with stub(never) as served:
        assert client("jobs", url=served.url) == 1
        os.write(writing, b"12")
    os.close(reading)
    os.close(writing)
    assert capsys.readouterr().err == f"rocktune: {served.url} did not answer in time\n"


def test_a_kept_connection_that_was_closed_is_opened_anew(client: Client, capsys: Capture):
    answers = iter([None, answering(200, job())(None)])
    with stub(lambda _: next(answers)) as served:
        assert client("show", 7, url=served.url) == 0
    assert capsys.readouterr().err == ""


def test_a_cancellation_is_not_sent_twice(client: Client):
    with stub(lambda _: None) as served:
        assert client("cancel", 7, url=served.url) == 1
    assert len(served.asked) == 1


def test_a_jobs_text_is_only_text(client: Client, capsys: Capture):
    document = job(why=HOSTILE, workload=HOSTILE, space=HOSTILE)
    with stub(answering(200, document)) as served:
        assert client("show", 7, url=served.url) == 0
        shown = capsys.readouterr().out
        assert client("show", 7, "--json", url=served.url) == 0
        printed = capsys.readouterr().out
    assert shown == (
        f"job 7: {SHOWN}, space {SHOWN}, objective paper, genetic\n"
        f"sample: {SHOWN}\n"
        "4/40 trials, 1 failed, best +12 (trial 2), 1:01:40 left\n"
    )
    assert printed.isascii()
    assert "\x1b" not in printed
    assert json.loads(printed)["why"] == HOSTILE


def test_a_list_and_a_ranking_are_only_text(client: Client, capsys: Capture):
    page = {"jobs": [job(workload=HOSTILE, objective=HOSTILE)], "next": None}
    row = {"name": HOSTILE, "rank": 1, "workload_factor": False,
           "importance": {HOSTILE: {"permutation": 0.5}}, "anova": {}}  # fmt: skip
    ranking = {"final": True, "parameters": [row], "forest": {HOSTILE: {"r2": 0.5}}}
    for command, document in (("jobs", page), ("parameters 7", ranking)):
        with stub(answering(200, document)) as served:
            assert client(*command.split(), url=served.url) == 0
        shown = capsys.readouterr().out
        assert SHOWN in shown
        assert all(each.isprintable() or each == "\n" for each in shown)


def result(**more: Any) -> dict[str, Any]:
    change = {HOSTILE: {"percent": -3.0, "low": -5.0, "high": -1.0, "p": 0.01}}
    return {
        "job": {"objective": {"name": HOSTILE, "metric": [{"name": HOSTILE, "direction": "min"}]}},
        "verdict": {"why": HOSTILE, "pairs": 3, "change": change, "metrics": {HOSTILE: 2.0}},
        "baseline": {"metrics": {HOSTILE: 2.1}, "configuration": {HOSTILE: "a"},
                     "noise": {HOSTILE: {"spread": 0.01, "drifting": False}}},
        "best": {"trial": 2, "fitness": 12.0, "configuration": {HOSTILE: HOSTILE},
                 "metrics": {HOSTILE: 2.0}, "runs": 3, "change": change},
        "forest": {HOSTILE: {"r2": 0.5}}, "parameters": [{"name": HOSTILE, "rank": 1}], **more,
    }  # fmt: skip


def done_with(found: Any) -> Callable[[Asked], Answer]:
    def answer(asked: Asked) -> Answer:
        ending = asked.path.endswith("/result")
        return answering(200, found if ending else job(state="done"))(asked)

    return answer


def test_a_result_is_only_text(client: Client, capsys: Capture):
    with stub(done_with(result())) as served:
        assert client("show", 7, url=served.url) == 0
    shown = capsys.readouterr().out
    assert "Better than the baseline" in shown
    assert f"Proof: trial 2, {SHOWN}." in " ".join(shown.split())
    assert all(each.isprintable() or each == "\n" for each in shown)


@pytest.mark.parametrize("found", [[], {}, {"best": None}, result(verdict={}), result(forest=[])])
def test_a_result_of_another_version(client: Client, capsys: Capture, found: Any):
    with stub(done_with(found)) as served:
        assert client("show", 7, url=served.url) == 1
    assert (
        "cannot read the answer; the service may have another version" in capsys.readouterr().err
    )


def test_an_options_file_that_is_none(client: Client, capsys: Capture):
    with stub(answering(200, b"<html>", {"Content-Type": "text/html"})) as served:
        assert client("options", 7, "--out", "O", url=served.url) == 1
    assert "is not a Rocktune service" in capsys.readouterr().err
    assert not os.path.lexists("O")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (f"http://me:{TOKEN}@localhost:1", "has a user name or a password"),
        ("http://me@localhost:1", "has a user name or a password"),
        ("localhost:8080", "is not the URL of a service; write http://HOST:PORT"),
        ("ftp://localhost", "is not the URL of a service"),
        ("http://", "is not the URL of a service"),
        ("http://localhost:x", "is not a URL"),
        ("http://localhost:0", "0 is not a port"),
        ("http://localhost:65536", "65536 is not a port"),
        (f"http://localhost/?token={TOKEN}", "has more than an address"),
        ("http://lo\x1bcal", "is not a URL"),
    ],
)
@pytest.mark.parametrize("typed", [True, False])
def test_what_is_no_address(client: Client, capsys: Capture, url: str, said: str, typed: bool):
    given: dict[str, Any] = {} if typed else {"url": url}
    assert client("jobs", *(["--url", url] if typed else []), **given) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"rocktune: {'--url' if typed else 'ROCKTUNE_URL'}: {said}")
    assert TOKEN not in told
    assert "\x1b" not in told


@pytest.mark.parametrize("token", ["ge\nheim", "geh eim", "gehéim", "\x1b[2J"])
def test_what_is_no_token(client: Client, capsys: Capture, token: str):
    with stub(lambda _: None) as served:
        assert client("jobs", url=served.url, ROCKTUNE_TOKEN=token) == 2
    assert served.asked == []
    said = "rocktune: ROCKTUNE_TOKEN: has characters that no token has; set it again\n"
    assert capsys.readouterr().err == said


@pytest.mark.slow
def test_a_token_of_the_service(client: Client, service: Scene, capsys: Capture):
    assert client("token", "make", "reader", "--role", "read", "--db", service.database) == 0
    token = capsys.readouterr().out.strip()
    nowhere = f"{service.desk.token_file}.not"
    assert client("jobs", url=service.url, ROCKTUNE_TOKEN_FILE=nowhere) == 2
    said = capsys.readouterr().err
    assert "ROCKTUNE_TOKEN: a token is required" in said and "`rocktune token show`" in said
    assert client("jobs", url=service.url) == 0, "who runs the service needs not set it"
    capsys.readouterr()
    assert client("jobs", url=service.url, ROCKTUNE_TOKEN="wrong") == 2
    said = capsys.readouterr().err
    assert "unknown or revoked" in said and "set it to a valid token" in said
    assert client("jobs", url=service.url, ROCKTUNE_TOKEN=f" {token}\n") == 0
    assert client("submit", url=service.url, ROCKTUNE_TOKEN=token) == 2
    said = capsys.readouterr().err
    assert "ROCKTUNE_TOKEN: this needs the role submit; the token has read" in said
    assert token not in said
    # Who may open the database needs none, and sends none.
    assert client("jobs", "--db", service.database, ROCKTUNE_TOKEN="wrong") == 0
