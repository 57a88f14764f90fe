"""Limits beside an objective: added to it, checked against what is measured, and kept with it."""

import json
from pathlib import Path

import pytest

from jobs.report.verdict import limit_lines
from jobs.specification.named_files import specify
from jobs.specification.specification import Specification, specification_from_document
from optimizer.objective.objective import Limit, limit_words
from sampler.common.errors import InputError, InputErrors
from sampler.workload.metric_table import MACHINE
from tests.support.jobs.instant import write_space, write_workload
from tests.support.jobs.small_result import OBJECTIVE, small_result

RATE = Limit("rate", at_least_baseline=0.95)
P99 = Limit("write_p99", at_most=200.0)


def asked(*limits: Limit, **more: object) -> Specification:
    return specify(objective="waf", limits=[*map(limit_words, limits)], **more)


def test_are_in_the_objective_that_is_stored():
    specification = asked(RATE, P99)
    stored = json.loads(json.dumps(specification.document()))
    assert stored["objective"]["limit"] == [
        {"metric": "rate", "at_least_baseline": 0.95}, {"metric": "write_p99", "at_most": 200.0},
    ]  # fmt: skip
    assert stored["objective"]["name"] == "waf"
    assert specification_from_document(stored).digest() == specification.digest()
    assert len({each.digest() for each in (specification, asked(RATE), asked())}) == 3


def test_come_after_the_objectives_own(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "m"\n[[metric]]\nname = "waf"\ndirection = "min"\n'
        '[[limit]]\nmetric = "sa"\nat_most = 1.5\n'
    )
    rows = specify(objective=str(path), limits=[limit_words(RATE)]).objective["limit"]
    assert [row["metric"] for row in rows] == ["sa", "rate"]
    with pytest.raises(InputError, match=r"^limits: no value can be sa >= 2 and <= 1\.5"):
        specify(objective=str(path), limits=["sa >= 2"])


def test_an_objective_without_more_is_stored_as_it_was():
    assert "limit" not in asked().objective


@pytest.mark.parametrize(
    ("limit", "workload", "said"),
    [
        (
            Limit("wfa", at_most=2.0),
            "load",
            "no measurement of the workload load has 'wfa'; name one",
        ),
        (Limit("read_p99", at_most=2.0), "load", "write_p50, write_p99, write_p999"),
        (
            Limit("update_p99", at_most=2.0),
            "mixed-50-50",
            "no measurement of the workload mixed-50-50 has 'update_p99'; name one",
        ),
        (Limit("memory", at_most=2.0), "load", "give for example 512MiB as `memory`"),
        (Limit("memory", at_most=2.0), "external", "give for example 512MiB as `memory`"),
    ],
)
def test_of_what_nothing_measures_are_refused(limit: Limit, workload: str, said: str):
    with pytest.raises(InputError) as refused:
        asked(limit, workload=workload)
    assert refused.value.field == "limits"
    assert said in refused.value.problem


def test_all_that_is_wrong_is_told_at_once():
    with pytest.raises(InputErrors) as refused:
        asked(Limit("wfa", at_most=1.0), RATE, Limit("memory", at_most=1.0))
    assert len(refused.value.errors) == 2


@pytest.mark.parametrize("metric", ["read_p99", "write_p99", "rate"])
def test_of_what_the_workload_measures_are_taken(metric: str):
    assert asked(Limit(metric, at_most=2.0), workload="mixed-50-50").objective["limit"]


def test_of_a_benchmark_of_ones_own_any_metric_may_be_limited(tmp_path: Path):
    specification = asked(
        Limit("own", at_most=2.0),
        workload=str(write_workload(tmp_path)), space=str(write_space(tmp_path)),
    )  # fmt: skip
    assert specification.objective["limit"] == [{"metric": "own", "at_most": 2.0}]


def test_a_job_that_was_stored_with_a_limit_of_memory_is_still_read():
    """Before it was refused, it could be asked for."""
    known = asked()
    objective = {**known.objective, "limit": [{"metric": "memory", "at_most": 1e9}]}
    stored = known.model_copy(update={"objective": objective}).document()
    assert specification_from_document(stored).objective["limit"] == objective["limit"]


@pytest.mark.parametrize("verdict", [None, {"pairs": 3}])
def test_where_nothing_was_judged_limits_are_told_all_the_same(verdict: dict[str, int] | None):
    objective = {**OBJECTIVE, "limit": [{"metric": "rate", "at_least_baseline": 0.95}]}
    result = small_result(job={"objective": objective}, verdict=verdict)
    assert result.limits[0].kept is None
    assert limit_lines(result) == [
        "Limit rate >= 0.95 baseline was not judged: there is no proof."
    ]
    assert limit_lines(small_result()) == []


@pytest.mark.parametrize("own", [False, True], ids=["db_bench", "command"])
@pytest.mark.parametrize("metric", MACHINE)
def test_the_conditions_of_a_run_are_neither_a_limit_nor_an_objective(
    metric: str, own: bool, tmp_path: Path
):
    load = str(write_workload(tmp_path)) if own else "load-quick"
    space = str(write_space(tmp_path)) if own else "default"
    with pytest.raises(InputError, match=f"limits: {metric} is a condition of a run"):
        specify(workload=load, space=space, objective="waf", limits=[f"{metric} <= 2"])
    path = tmp_path / "mine.toml"
    path.write_text(f'name = "m"\n[[metric]]\nname = "{metric}"\ndirection = "min"\n')
    with pytest.raises(InputError, match=f"objective: {metric} is a condition of a run"):
        specify(workload=load, space=space, objective=str(path))
