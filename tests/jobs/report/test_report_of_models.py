"""The report of a job that models have guided: they say what matters."""

import io
from dataclasses import replace
from html import unescape

import pytest
from rich.console import Console

from cli.render.outcome_screen import print_outcome
from jobs.charts.importance import shares_chart
from jobs.report.artifacts import content, report_html
from jobs.report.ranking import (
    anova_line,
    disagreement_lines,
    ranking_sections,
    trust_lines,
)
from jobs.report.section import Charts
from jobs.results.outcome import JobOutcome
from optimizer.results.document import Result
from optimizer.results.ranking import ParameterImportance, ParameterRanking, Quality
from tests.support.jobs.pretended_job import finished_job

SURE = {"total": 0.5, "low": 0.4, "high": 0.7, "alone": 0.45, "p": 1e-9, "p_holm": 1e-8}


@pytest.fixture(scope="module")
def guided() -> JobOutcome:
    return finished_job(44, strategy="guided")


def rows(**totals: float) -> list[ParameterImportance]:
    return [
        ParameterImportance(name=n, rank=1, model={"waf": {**SURE, "total": t}})
        for n, t in totals.items()
    ]


@pytest.mark.slow
def test_models_say_what_matters(guided: JobOutcome):
    page, result = report_html(guided), Result.read(guided.result)
    ranking = ranking_sections(result, most=15)[0]
    assert ranking in content(guided)["appendix"]
    charts = next(block.charts for block in ranking.blocks if isinstance(block, Charts))
    assert [each.name for each in charts] == [f"effects-{name}" for name in result.models]
    assert "An additive Gaussian process per metric learns from all new configurations" in page
    first = result.sorted_by(None)[0]
    assert first.name == "compression_type"
    assert f"{100 * first.model['waf'].total:.1f}% (" in page
    assert trust_lines(result) and "with fewer than 30 nothing is ranked" in page
    for line in (*trust_lines(result), *disagreement_lines(result), anova_line(result)):
        assert line in unescape(page)
    idle = next(x for x in ranking.words if x.startswith("Not shown to explain 1%"))
    assert "max_background_jobs" in idle
    assert "most important at the end of the job: compression_type" in page
    assert "models learn from them, and from every trial of the search" in page


def unlearned(guided: JobOutcome, r2: float) -> JobOutcome:
    """As an earlier version kept it: its forests knew the draws alone."""
    forest = {m: {**f, "r2_cross_validated": r2} for m, f in guided.result["forest"].items()}
    earlier = {k: v for k, v in guided.result.items() if k not in ("shown_first", "anova_power")}
    return replace(guided, result={**earlier, "forest": forest})


def test_forests_of_few_draws_are_shown_only_if_they_say_anything(guided: JobOutcome):
    few, enough = (report_html(unlearned(guided, r2)) for r2 in (0.1, 0.5))
    assert "random configurations are too few for them" in few
    assert "One random forest per metric" not in few
    assert ">Importance from the random configurations alone</h2>" in enough
    assert "One random forest per metric" in enough


@pytest.mark.slow
def test_the_terminal_tells_what_matters_by_the_models(guided: JobOutcome):
    page = Console(record=True, width=200, file=io.StringIO())
    print_outcome(page, guided.result)
    (line,) = [x for x in page.export_text().splitlines() if x.startswith("Most important")]
    assert line.startswith("Most important parameters, changed or not: compression_type, ")
    r2 = ParameterRanking.model_validate(guided.result).ranked_r2["waf"]
    assert f"waf {r2:.2f}" in line


def test_a_chart_names_the_first_and_its_doubt():
    model = Quality(r2_cross_validated=0.8, trials=60)
    chart = shares_chart("process", "waf", rows(b=0.2, a=0.6, c=0.0), model)
    assert chart.title == "waf, by the process: a is most important"
    assert chart.layout["yaxis"]["ticktext"] == ["a", "b"]
    assert chart.traces[1]["x"] == [0.6, 0.2]
    assert chart.traces[1]["error_x"]["arrayminus"] == pytest.approx([0.2, 0.0])
    doubtful = shares_chart(
        "process", "waf", rows(a=0.6), Quality(r2_cross_validated=0.1, trials=20)
    )
    unknown = shares_chart(
        "process", "waf", rows(a=0.6), Quality(r2_cross_validated=None, trials=9)
    )
    assert "do not rely on the order, R2 is 0.10" in doubtful.title
    assert "R2 is unknown" in unknown.title
    assert shares_chart("process", "waf", rows(c=0.0), model) is None
    assert shares_chart("process", "sa", rows(a=0.6), model) is None
