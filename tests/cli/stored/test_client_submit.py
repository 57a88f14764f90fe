"""`rocktune submit` and a real service."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.render import submitting
from jobs.specification.named_files import specify
from optimizer.objective.objective_file import objective_document, objective_from_document
from tests.support.cli.client_scene import Answer, Asked, Scene, stub

Client = Callable[..., int]
Capture = pytest.CaptureFixture[str]
OPTIONS = (
    "[Version]\n  rocksdb_version=7.8.3\n  options_file_version=1.1\n[DBOptions]\n"
    '[CFOptions "default"]\n  write_buffer_size=33554432\n'
)


def newest(service: Scene) -> int:
    return service.jobs()


def made(client: Client, service: Scene, capsys: Capture, *arguments: object) -> Any:
    """The document of a job that is not to be run: it would take an hour."""
    assert client("submit", *arguments, "--json", url=service.url) == 0
    job = json.loads(capsys.readouterr().out)
    assert client("cancel", job["id"], url=service.url) == 0
    return job


def in_full(specification: dict[str, Any]) -> dict[str, Any]:
    """With what an objective leaves out; the service keeps it as it was sent."""
    objective = objective_from_document(specification["objective"])
    return {**specification, "objective": objective_document(objective)}


def test_it_prints_the_number_and_what_to_type_next(
    client: Client, service: Scene, capsys: Capture
):
    assert client(*service.asked(), url=service.url) == 0
    printed = capsys.readouterr()
    number = newest(service)
    assert printed.out == (
        f"job {number} is queued: waits for the bench host\nWatch it with: rocktune show "
        f"{number}\n"
    )
    assert printed.err == ""


def test_all_that_tune_would_be_asked_for_arrives(
    client: Client, service: Scene, tmp_path: Path, capsys: Capture
):
    objective, options = tmp_path / "mine.toml", tmp_path / "OPTIONS"
    objective.write_text('name = "mine"\n[[metric]]\nname = "waf"\ndirection = "min"\n')
    options.write_text(OPTIONS)
    asked = ["--workload", "load-quick", "--space", "paper", "--objective", objective,
             "--strategy", "genetic", "--baseline", options, "--trials", 30, "--memory", "1GiB",
             "--scale", 8, "--seed", 7, "--top", 3, "--stop-early", "--generations", 4,
             "--fitness", 12.5, "--detect", "waf=5%", "--priority", -3,
             "--limit", "rate >= 0.95 baseline", "--limit", "write_p99 <= 0.2ms"]  # fmt: skip
    job = made(client, service, capsys, *asked)
    assert job["priority"] == -3
    whole = specify(
        workload="load-quick", space="paper", objective=str(objective), strategy="genetic",
        baseline=str(options), trials=30, memory=2**30, scale=8, seed=7,
        limits=["rate >= 0.95 baseline", "write_p99 <= 200us"],
        top=3, generations=4, fitness=12.5, stop_early=True, detect="waf=5%",
    ).document()  # fmt: skip
    assert in_full(job["specification"]) == whole | {"chosen_for": "7.8.3"}  # of the OPTIONS file


def test_defaults_are_those_of_tune(client: Client, service: Scene, capsys: Capture):
    job = made(client, service, capsys)
    assert in_full(job["specification"]) == json.loads(json.dumps(specify().document()))


@pytest.mark.parametrize("name", ["library", "db_bench"])
def test_a_named_baseline(client: Client, service: Scene, capsys: Capture, name: str):
    assert made(client, service, capsys, "--baseline", name)["specification"]["baseline"] == name


def test_all_that_is_wrong_is_told_in_one_line(client: Client, service: Scene, capsys: Capture):
    before = service.jobs()
    arguments = ["--workload", "nix", "--trials", 3, "--strategy", "foo", "--memory", "much",
                 "--host-kind", "a kind"]  # fmt: skip
    assert client("submit", *arguments, url=service.url) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    for part in ("--workload: 'nix' is not registered; choose one of load-quick",
                 "--trials: 3 are too few", "--strategy: 'foo'", "--memory: ",
                 "--host-kind: 'a kind' is not a kind"):  # fmt: skip
        assert part in said
    assert service.jobs() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--workload", "mine.toml"], "--workload: cannot read 'mine.toml'"),
        (["--space", "nope"], "--space: 'nope' is not one of default"),
        (["--baseline", "nope"], "--baseline: 'nope' is neither library, db_bench nor"),
        (["--minutes", "nan"], "--minutes: nan and inf cannot be sent over HTTP"),
        (["--space", "dated.toml"], "--space: has a date or a time; write it as text"),
        (["--objective", "torn.toml"], "--objective torn.toml: is not TOML"),
        (["--space", "nope", "--fitness", "inf"], "--fitness: nan and inf"),
    ],
)
def test_what_cannot_be_sent_is_not_sent(
    client: Client, capsys: Capture, arguments: list[str], said: str
):
    Path("dated.toml").write_text("name = 2026-11-21\n")
    Path("torn.toml").write_text("name = \n")
    with stub(lambda _: None) as served:
        assert client("submit", *arguments, url=served.url) == 2
    assert served.asked == []
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def forwarded(asked: Asked, url: str) -> Answer:
    request = urllib.request.Request(url + asked.path, asked.body or None, method=asked.method)
    for name, value in asked.headers.items():
        if name.lower() in ("idempotency-key", "content-type", "authorization"):
            request.add_header(name, value)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, {"Content-Type": answer.headers["content-type"]}, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, {"Content-Type": error.headers["content-type"]}, error.read()


def test_a_lost_answer_does_not_make_two_jobs(
    client: Client, service: Scene, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    """The first two answers of the service get lost on their way."""
    monkeypatch.setattr(submitting, "_AGAIN_AFTER_SECONDS", (0.01, 0.01, 0.01))
    before = service.jobs()
    statuses: list[int] = []

    def between(asked: Asked) -> Answer | None:
        given = forwarded(asked, service.url)
        statuses.append(given[0])
        return given if len(statuses) > 2 else None

    with stub(between) as served:
        assert client(*service.asked(), url=served.url) == 0
    assert statuses == [201, 200, 200]
    assert service.jobs() == before + 1
    assert capsys.readouterr().out.startswith(f"job {before + 1} is ")
    assert len({asked.headers["Idempotency-Key"] for asked in served.asked}) == 1


def test_two_submits_are_two_jobs(client: Client, service: Scene):
    before = service.jobs()
    assert client(*service.asked(), url=service.url) == 0
    assert client(*service.asked(), url=service.url) == 0
    assert service.jobs() == before + 2


def test_a_service_that_never_answers_is_given_up(
    client: Client, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(submitting, "_AGAIN_AFTER_SECONDS", (0.01, 0.01))
    with stub(lambda _: None) as served:
        assert client("submit", url=served.url) == 1
    assert len(served.asked) == 3
    said = capsys.readouterr().err
    assert said.startswith(f"rocktune: {served.url} did not answer: ")
    assert said.endswith("; `rocktune jobs` tells whether the job was made\n")


def test_what_was_never_sent_is_not_tried_again(client: Client, capsys: Capture):
    with stub(lambda _: None) as served:
        pass
    assert client("submit", url=served.url) == 1
    said = capsys.readouterr().err
    assert said == f"rocktune: cannot reach {served.url}: Connection refused\n"


@pytest.mark.slow
def test_watched_to_the_end(client: Client, service: Scene, capsys: Capture):
    assert client(*service.asked("--watch"), url=service.url) == 0
    printed = capsys.readouterr()
    assert "Better than the baseline" in printed.out
    assert "14/14 trials, 0 failed, best +" in printed.err
    number = newest(service)
    assert client(*service.asked("--watch", "--json", workload="even"), url=service.url) == 3
    printed = capsys.readouterr()
    job = json.loads(printed.out)
    assert (job["id"], job["state"], job["result"]["best"]) == (number + 1, "done", None)
    assert printed.err.startswith(f"job {number + 1} is queued: ")
