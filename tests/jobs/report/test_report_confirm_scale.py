"""The report of a job that was proved at a larger scale than it was searched at."""

import numpy as np
import pytest

from jobs.report.artifacts import content, report_html
from jobs.results.figures import figure
from jobs.results.outcome import JobOutcome
from optimizer.trials.trial import Phase
from tests.support.jobs.pretended_job import finished_job, lsm
from tests.support.optimizer.two_loads import LARGER, TwoLoads


@pytest.mark.slow
def test_says_where_and_compares_runs_of_one_load_alone() -> None:
    noise = {"waf": 0.02, "time": 0.06, "rate": 0.06}
    confirmed = finished_job(
        40, bench=TwoLoads(lsm, noise=noise), confirm=LARGER, strategy="sobol"
    )
    html = report_html(confirmed)
    words = "earched at scale 1/64 (100,000 keys); confirmed at scale 1/8 (800,000 keys)"
    assert html.count(words) == 2
    if confirmed.result["best"]:
        assert "It was confirmed at scale 1/8 on the workload" in html
    searched = [t for t in confirmed.trials if t.is_baseline and t.phase is not Phase.CONFIRM]
    spread = np.std([confirmed.fitness[t.number] for t in searched], ddof=1)
    told = next(each for each in content(confirmed)["appendix"] if each.name == "noise")
    assert ("fitness", f"± {figure(spread)}") == told.blocks[0].rows[-1][:2]
    dots = next(t for t in told.blocks[-1].figure["data"] if t["mode"] == "markers")
    assert len(dots["x"]) == len(searched)


def test_is_not_said_of_other_jobs(finished: JobOutcome) -> None:
    assert "confirmed at scale" not in report_html(finished)
