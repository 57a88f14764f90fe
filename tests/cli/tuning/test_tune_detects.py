"""`--detect` at the terminal: what was planned, and what the proof could have shown."""

import json
from collections.abc import Callable

import pytest
from rich.console import Console

from cli.render.outcome_screen import print_outcome
from tests.support.cli.terminal import Desk
from tests.support.jobs.instant import write_space, write_workload

Here = Callable[..., int]
POWER = {"level": 0.8, "pairs": 7, "smallest_change": {"waf": 3.14, "time": 11.4}, "fitness": 97.2,
         "planned": None}  # fmt: skip


def printed(result: dict) -> str:
    console = Console(width=500)
    with console.capture() as capture:
        print_outcome(console, result, verbose=True)
    return capture.get()


def result_with(power: dict | None) -> dict:
    change = {"percent": 1.0, "low": -1.0, "high": 3.0, "p": 0.4}
    return {
        "job": {"objective": {"name": "paper", "metric": [
            {"name": name, "direction": "min"} for name in ("waf", "time", "sa")]}},
        "verdict": {"pairs": 7, "why": "p = 0.4", "metrics": {"waf": 2.0},
                    "change": {"waf": change}},
        "best": None, "baseline": {"metrics": {"waf": 2.0}, "noise": {}}, "forest": {},
        "parameters": [],
    } | ({} if power is None else {"power": power})  # fmt: skip


def test_where_nothing_was_proven_the_table_says_what_could_have_been():
    said = printed(result_with(POWER))
    line = "Minimum detectable change (80% power, 7 pairs): WAF 3.1%, TIME 11%; fitness 97. "
    assert f"{line}A smaller change can go undetected." in said.splitlines()
    assert "Planned" not in said


def test_what_the_search_could_still_have_gained_is_told():
    why = "expected gain 3, below the noise of 21: 9 runs saved"
    result = result_with(POWER) | {"search": {"why": why}}
    assert f"When the search ended: {why}." in printed(result).splitlines()
    assert "When the search" not in printed(result_with(POWER) | {"search": None})


def test_a_result_of_an_earlier_version_is_shown_without_it():
    said = printed(result_with(None))
    assert "Nothing was proven better" in said and "Minimum detectable" not in said


@pytest.mark.slow
def test_a_job_is_planned_for_the_change_and_says_so(
    desk: Desk, here: Here, capfd: pytest.CaptureFixture[str]
):
    workload, space = write_workload(desk.folder), write_space(desk.folder)
    asked = ["tune", "--workload", workload, "--space", space, "--objective", "rate",
             "--strategy", "random", "--trials", 24, "--db", desk.database, "--out", desk.out,
             "--detect", "rate=20%"]  # fmt: skip
    assert here(*asked) in (0, 3)
    captured = capfd.readouterr()
    result = json.loads((desk.out / "result.json").read_text())
    search, planned = result["job"]["search"], result["power"]["planned"]
    assert (search["detect"], search["detect_metric"]) == (0.2, "rate")
    assert (planned["metric"], planned["change"], planned["runs"]) == ("rate", 20, 5)
    assert result["trials"]["total"] == 24
    assert "detecting a change of 20% takes" in captured.err
    assert "Planned: detecting a change of 20% takes" in captured.out
    assert f"(80% power, {result['power']['pairs']} pairs)" in captured.out
