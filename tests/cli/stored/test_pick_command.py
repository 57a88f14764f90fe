"""`rocktune pick`: the same picks from a service and its database, and a file of the first."""

import json
from collections.abc import Callable

import pytest

from tests.support.cli.client_scene import Scene
from tests.support.cli.terminal import Desk

Client = Callable[..., int]
Capture = pytest.CaptureFixture[str]
FILE = """
name = "mine"
[[metric]]
name = "waf"
direction = "max"
[[limit]]
metric = "waf"
at_most_baseline = 2.0
"""


@pytest.fixture(scope="module")
def done(service: Scene) -> int:
    return service.finished()


def test_the_same_from_a_service_and_from_its_database(
    client: Client, desk: Desk, service: Scene, done: int, capsys: Capture
):
    asked = ["--weights", "waf=2,rate=1", "--limit", "sa <= 1 baseline", "--top", 3]
    assert client("pick", done, *asked, "--out", "picked", url=service.url) == 0
    printed = capsys.readouterr().out
    for said in ("explored, not proven", "keep sa <= 1 baseline", "baseline", "codec", "fast"):
        assert said in printed, said
    assert "Written to picked/OPTIONS.ini" in printed
    options = (desk.folder / "picked" / "OPTIONS.ini").read_text()
    assert f"of job {done}" in options and "# Preference: waf=2,rate=1" in options
    assert client("pick", done, *asked, "--db", service.database, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["options"] == options and len(document["picks"]) == 3
    assert f"{document['picks'][0]['trial']}  " in printed


def test_a_service_level_picks_the_most_throughput_within_it(
    client: Client, service: Scene, done: int, capsys: Capture
):
    assert client("pick", done, "--slo", "waf <= 1.5", "--top", 1, url=service.url) == 0
    printed = capsys.readouterr().out
    assert "keep waf <= 1.5" in printed and "rate" in printed.splitlines()[0]
    assert client("pick", done, "--slo", "waf <= 1.5 ms", url=service.url) == 2
    assert "--slo: 'waf' is a ratio" in capsys.readouterr().err


def test_the_front_of_two_metrics(client: Client, service: Scene, done: int, capsys: Capture):
    asked = ["front", done, "--x", "waf", "--y", "rate"]
    assert client(*asked, url=service.url) == 0
    printed = capsys.readouterr().out
    assert printed.split()[:3] == ["trial", "waf", "rate"] and "baseline" in printed
    assert "on the front, mostly of single runs: explored, not proven." in printed
    assert client(*asked, "--db", service.database, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["metrics"] == ["waf", "rate"]
    assert all(f"{point['number']}  " in printed for point in document["points"])
    assert client("front", done, url=service.url) == 0  # in the objective's own
    assert capsys.readouterr().out.split()[:2] == ["trial", "waf"]
    assert client("front", done, "--x", "waf", url=service.url) == 2
    assert "--y: give both x and y, or neither" in capsys.readouterr().err


def test_contributions_of_a_greedy_job(client: Client, service: Scene, done: int, capsys: Capture):
    greedy = service.finished(strategy="greedy", trials=20)
    assert client("contributions", greedy, url=service.url) == 0
    printed = capsys.readouterr().out
    assert (
        "parameter  from" in printed and "codec" in printed and "gains are optimistic" in printed
    )
    assert client("contributions", greedy, "--db", service.database, "--json") == 0
    assert json.loads(capsys.readouterr().out)["parameters"][0]["name"] == "codec"
    assert client("contributions", done, url=service.url) != 0
    assert "only the strategy greedy" in capsys.readouterr().err


def test_models_are_beside_it_when_asked(
    client: Client, service: Scene, done: int, capsys: Capture
):
    assert client("pick", done, "--model", url=service.url) == 0
    assert "too few trials for models" in capsys.readouterr().out
    longer = service.finished(trials=24)
    assert client("pick", longer, "--model", url=service.url) == 0
    printed = capsys.readouterr().out
    assert "models" in printed.splitlines()[0] and "95% interval" in printed


def test_an_objective_of_ones_own(
    client: Client, desk: Desk, service: Scene, done: int, capsys: Capture
):
    (desk.folder / "mine.toml").write_text(FILE)
    assert client("pick", done, "--objective", "mine.toml", "--json", url=service.url) in (0, 3)
    document = json.loads(capsys.readouterr().out)
    assert document["objective"]["name"] == "mine"
    assert document["limits"] == ["waf <= 2 baseline"]
    assert all(row["metrics"]["waf"] > 1.5 for row in document["picks"][:1])


def test_nothing_to_pick_is_told_and_leaves_no_file(
    client: Client, desk: Desk, service: Scene, done: int, capsys: Capture
):
    limit = ["--limit", "waf <= 0.01 baseline"]
    assert client("pick", done, *limit, "--out", "none", url=service.url) == 3
    said = capsys.readouterr().err
    assert "configurations keeps every limit: no file" in said
    assert not (desk.folder / "none" / "OPTIONS.ini").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--weights", "waf=two"], "--weights: 'waf=two' has no valid weight"),
        (["--limit", "fast"], "--limit: 'fast' is not a limit"),
        (["--weights", "waf", "--objective", "sa"], "--weights: give either weights or an"),
        (["--objective", "no.toml"], "--objective"),
        (["--weights", "write_p99"], "--weights: the job has not measured"),
    ],
)
def test_what_is_wrong_is_named(
    client: Client, service: Scene, done: int, capsys: Capture, given: list[str], said: str
):
    assert client("pick", done, *given, url=service.url) == 2
    assert said in capsys.readouterr().err
