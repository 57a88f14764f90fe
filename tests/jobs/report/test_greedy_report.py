"""The report and the screen of a greedy job: contributions, and fronts of two metrics."""

import io

import pytest
from rich.console import Console

from cli.render.outcome_screen import print_outcome
from jobs.charts.trials import two_metric_front_charts
from jobs.report.artifacts import report_html
from jobs.results.outcome import JobOutcome
from tests.support.jobs.pretended_job import finished_job

POINTS = {
    1: {"rate": 100.0, "write_p99": 50.0, "cpu_percent": 40.0},
    2: {"rate": 200.0, "write_p99": 90.0, "cpu_percent": 30.0},
    3: {"rate": 150.0, "write_p99": 95.0, "cpu_percent": 80.0},
    4: {"rate": 900.0, "write_p99": 10.0, "cpu_percent": 10.0},  # breaks a limit
}


@pytest.fixture(scope="module")
def greedy() -> JobOutcome:
    return finished_job(36, strategy="greedy")


def test_the_page_says_what_each_parameter_gained_and_what_was_left(greedy: JobOutcome):
    found, page = greedy.result["contributions"], report_html(greedy)
    assert "What each parameter contributed" in page
    assert f"{len(found['left'])} " not in found["why"]  # the names, not a number
    assert found["left"] and ", ".join(found["left"]) in page
    first = found["parameters"][0]
    assert f"{first['share']:.1f}%" in page and f"{first['change']['rate']:+.1f}%" in page
    assert "gains are optimistic" in page


def test_so_does_the_screen_instead_of_a_ranking(greedy: JobOutcome):
    console = Console(file=io.StringIO(), width=200)
    print_outcome(console, greedy.result)
    said = console.file.getvalue()
    rows = greedy.result["contributions"]["parameters"]
    assert ("parameter " if len(rows) <= 6 else f"top 6 of {len(rows)} contributors") in said
    assert rows[0]["name"] in said and "varied before the budget ended; not varied: " in said
    assert "Most important parameters" not in said


def test_another_strategy_has_no_contributions(finished: JobOutcome):
    assert "contributions" not in finished.result
    assert "What each parameter contributed" not in report_html(finished)


def test_fronts_of_throughput_latency_and_cpu():
    charts = {chart.name: chart for chart in two_metric_front_charts(POINTS, [1, 2, 3])}
    assert charts.keys() == {"front-rate-write_p99", "front-cpu_percent-rate"}
    on = {
        name: next(t for t in chart.traces if t["name"] == "front")["text"]
        for name, chart in charts.items()
    }
    assert on["front-rate-write_p99"] == ["trial 1", "trial 2"]  # 3 is slower and later
    assert on["front-cpu_percent-rate"] == ["trial 2"]
    title = charts["front-rate-write_p99"].title
    assert title.startswith("Throughput against the 99th percentile of writes: 2 of 3")
    assert "higher rate and lower write_p99" in charts["front-rate-write_p99"].caption
    assert "Crosses: 1 that break a limit" in charts["front-cpu_percent-rate"].caption


def test_no_front_without_its_metrics():
    without = {n: {"rate": found["rate"]} for n, found in POINTS.items()}
    assert two_metric_front_charts(without, [1, 2, 3]) == []
    assert two_metric_front_charts(dict(list(POINTS.items())[:2]), [1, 2]) == []
