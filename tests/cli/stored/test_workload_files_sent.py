"""Workload files of one's own at a service: `rocktune submit` and `schedule add` upload them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli.client_scene import Answer, Asked, Scene, stub

Client = Callable[..., int]
Capture = pytest.CaptureFixture[str]
LOAD = 'name = "{name}"\nnum = {num}\nvalue_size = 400\n'


def written(folder: Path, name: str, num: int = 100_000, more: str = "") -> Path:
    path = folder / "my-db.toml"
    path.write_text(LOAD.format(name=name, num=num) + more)
    return path


def test_a_file_is_uploaded_and_the_job_names_it(
    client: Client, service: Scene, tmp_path: Path, capsys: Capture
):
    path = written(tmp_path, "of-a-file")
    for asked in (path, path, "of-a-file"):
        assert client("submit", "--workload", asked, "--json", url=service.url) == 0
        printed = capsys.readouterr()
        job = json.loads(printed.out)
        assert client("cancel", job["id"], url=service.url) == 0
        assert job["specification"]["workload"]["value_size"] == 400
        told = "uploaded your file as workload of-a-file\n"
        assert printed.err.startswith(told) == (asked == path)
        capsys.readouterr()


def test_another_file_of_the_name_takes_its_place_only_where_it_is_asked_for(
    client: Client, service: Scene, tmp_path: Path, capsys: Capture
):
    submit = ("submit", "--workload", written(tmp_path, "taken"), "--json")
    assert client(*submit, url=service.url) == 0
    first = json.loads(capsys.readouterr().out)
    written(tmp_path, "taken", num=200_000)
    assert client(*submit, url=service.url) == 2
    said = capsys.readouterr().err
    assert said.startswith("rocktune: --workload: 'taken' is taken by another workload")
    assert said.endswith("rename yours, or replace it (--replace)\n") and said.count("\n") == 1
    assert client(*submit, "--replace", url=service.url) == 0
    second = json.loads(capsys.readouterr().out)
    assert [each["specification"]["workload"]["num"] for each in (first, second)] == [
        100_000, 200_000,
    ]  # fmt: skip
    for each in (first, second):
        assert client("cancel", each["id"], url=service.url) == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("treads = 3\n", "--workload treads: "),
        ('[command]\nargv = ["/bin/sh"]\n', "--workload command: names a program or a file"),
        ('[flags]\nreport_file = "x"\n', "--workload flags.report_file: may name a file"),
        ("num = \n", "--workload "),
        ("help = 2026-11-22\n", "--workload: has a date or a time"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_in_one_line(
    client: Client, service: Scene, tmp_path: Path, capsys: Capture, more: str, said: str
):
    before = service.jobs()
    path = written(tmp_path, "wrong", more=more)
    assert client("submit", "--workload", path, url=service.url) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and said in told
    assert service.jobs() == before


def test_an_answer_of_something_else_is_not_taken(client: Client, tmp_path: Path, capsys: Capture):
    def odd(_: Asked) -> Answer:
        return 200, {"Content-Type": "application/json"}, b"[]"

    with stub(odd) as served:
        assert client("submit", "--workload", written(tmp_path, "x"), url=served.url) == 1
    assert "cannot read the answer" in capsys.readouterr().err
    assert [asked.path for asked in served.asked] == ["/v1/workloads"]


def test_files_of_a_schedule_are_uploaded_too(
    client: Client, service: Scene, tmp_path: Path, capsys: Capture
):
    written(tmp_path, "nightly-db")
    batch = tmp_path / "nightly.toml"
    batch.write_text('name = "own-files"\nworkloads = ["load-quick", "my-db.toml"]\ntrials = 20\n')
    add = ("schedule", "add", batch, "--cron", "30 2 * * *")
    assert client(*add, url=service.url) == 0
    assert "schedule own-files: 2 jobs" in capsys.readouterr().out
    known = service.desk.call("GET", f"{service.url}/v1/workloads/nightly-db")
    assert known["origin"] == "uploaded"


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("schedule", ("--cron", "not a time")),
        ("schedule", ("--cron", "0 2 * * *", "--time-zone", "Mars/Olympus")),
        ("submit", ("--trials", "3")),
    ],
)
def test_what_was_uploaded_for_a_refused_request_is_not_left_behind(
    client: Client, service: Scene, tmp_path: Path, capsys: Capture, command: str,
    more: tuple[str, ...],
):  # fmt: skip
    known, name = workloads_of(service), tmp_path.name  # all these tests have one service
    load = written(tmp_path, name)
    batch = tmp_path / "nightly.toml"
    batch.write_text(f'name = "left"\n[[job]]\nworkload = "{load}"\ntrials = 20\n')
    asked = ("schedule", "add", batch) if command == "schedule" else ("submit", "--workload", load)
    assert client(*asked, *more, url=service.url) == 2
    assert name not in workloads_of(service) == known
    capsys.readouterr()
    assert client("submit", "--workload", load, "--json", url=service.url) == 0
    assert client("cancel", json.loads(capsys.readouterr().out)["id"], url=service.url) == 0
    assert client(*asked, *more, url=service.url) == 2
    assert name in workloads_of(service), "that was there before"


def workloads_of(service: Scene) -> list[str]:
    return [each["name"] for each in service.desk.call("GET", f"{service.url}/v1/workloads")]
