"""The section "Why it is better": its plot and its table."""

from typing import Any

import pytest
from test_report_page import plots, read

from jobs.charts.changes import contributions_chart
from jobs.report.changed import minimal_lines
from jobs.results.outcome import JobOutcome
from optimizer.explained import Explanation


def estimate(expected: float, half: float) -> dict[str, float]:
    return {"expected": expected, "low": expected - half, "high": expected + half}


def step(name: str, gain: float, half: float, fitness: float) -> dict[str, Any]:
    return {
        "changes": [{"name": name, "from": 67108864, "to": 33554432}],
        "fixed": False,
        "gain": estimate(gain, half),
        "fitness": estimate(fitness, half),
        "metrics": {"waf": estimate(-gain / 10, half / 10)},
    }


STEPS = [
    step("write_buffer_size", 300, 50, 300),
    step("b<b>", 40, 90, 340),
    step("c", -60, 10, 280),
]
EXPLANATION = {
    "trials": 60,
    "predicted": estimate(280, 70),
    "steps": STEPS,
    "minimal": {"kept": ["write_buffer_size"], "dropped": ["b<b>", "c"], "noise": 20.0,
                "loss": estimate(-20, 40), "refused": None},
    "measured": None,
}  # fmt: skip


def test_each_bar_begins_where_the_one_before_ends():
    chart = contributions_chart(Explanation.model_validate(EXPLANATION))
    bars, whole = chart.traces
    assert bars["base"] == [0.0, 300.0, 340.0] and bars["x"] == [300.0, 40.0, -60.0]
    assert bars["marker"]["color"] == ["@accent", "@soft", "@second"]
    assert bars["error_x"]["array"] == [50.0, 90.0, 10.0]
    assert whole["x"] == [280.0]
    assert chart.title == "Significant predicted gain: write_buffer_size"
    assert "b&lt;b&gt;" in chart.layout["yaxis"]["ticktext"]
    assert "64.0 MiB" in bars["hovertext"][0] or "64 MiB" in bars["hovertext"][0]


def test_what_was_measured_stands_beside_it():
    measured = {"steps": [{"fitness": estimate(250, 30)}, None], "rounds": 7, "host": "h",
                "minimal": {"shown": False, "why": "fitness -40 [-90, +10]"}}  # fmt: skip
    explanation = Explanation.model_validate({**EXPLANATION, "measured": measured})
    chart = contributions_chart(explanation)
    diamonds = chart.traces[2]
    assert (diamonds["y"], diamonds["x"]) == ([0], [250.0])
    lines = minimal_lines(explanation)
    assert lines[0] == (
        "By the models, 1 of the 3 changes suffice: write_buffer_size. Not needed: b<b>, c."
    )
    assert lines[1] == (
        "Predicted fitness with these changes alone, relative to the winner: +20 [-20, +60] "
        "(allowed: -20)."
    )
    assert "not shown to be as good; fitness -40" in lines[2]


def test_without_a_step_there_is_no_plot():
    assert contributions_chart(Explanation.model_validate({**EXPLANATION, "steps": []})) is None


@pytest.mark.slow
def test_the_report_has_the_section(finished: JobOutcome):
    page = read(finished)
    explanation = finished.result["explanation"]
    assert "Why it is better" in page.text
    (chart,) = [p for p in plots(page) if any(t.get("name") == "winner" for t in p["data"])]
    assert len(chart["data"][0]["x"]) == len(explanation["steps"])
    changed = {c["name"] for each in explanation["steps"] for c in each["changes"]}
    best = finished.result["best"]["configuration"]
    baseline = finished.result["baseline"]["configuration"]
    assert changed >= {n for n in best if n in baseline and best[n] != baseline[n]}
