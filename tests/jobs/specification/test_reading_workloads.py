"""Reading workloads as jobs: what is asked for, and that older jobs stay what they were."""

from dataclasses import replace
from typing import Any

import pytest

from jobs.specification.named_files import specify
from jobs.specification.resolved_job import resolve
from jobs.specification.specification import (
    Specification,
    require_terms,
    specification_from_document,
    usual_objective,
)
from optimizer.objective.objective_file import load_objective
from sampler.common.errors import InputError
from sampler.space.space import memory_bytes
from sampler.workload.metric_table import db_bench_metrics
from sampler.workload.workload import Workload
from sampler.workload.workload_file import SHIPPED, load_workload, workload_document

READS, BESIDE = "read-quick", "readwhilewriting-quick"


def reading(**asked: Any) -> Specification:
    return specify(**{"workload": READS, "space": "reading", "objective": "reading", **asked})


@pytest.mark.parametrize("workload", [READS, BESIDE])
def test_a_reading_job_can_be_asked_for_and_comes_back_from_its_document(workload: str):
    specification = reading(workload=workload)
    again = specification_from_document(specification.document())
    assert again == specification
    assert again.digest() == specification.digest()
    problem = resolve(again, None).problem
    assert problem.workload == load_workload(workload)
    assert "cache_size" in problem.searched


# As the version before preparations made them.
@pytest.mark.parametrize(
    ("asked", "digest"),
    [
        ({}, "a1283de7defa20990e06a36e"),
        (
            {"workload": "mixed-50-50", "space": "blob", "objective": "rate"},
            "fb02e6f6513e72bba7d638e9",
        ),
    ],
)
def test_what_was_asked_for_before_keeps_its_digest(asked: dict[str, Any], digest: str):
    assert specify(**asked).digest()[:24] == digest


def test_the_cache_is_counted_within_the_memory_budget():
    problem = resolve(reading(), None).problem
    space = problem.space
    assert problem.memory == memory_bytes(space.context) == 136 * 2**20
    largest = problem.configuration(dict.fromkeys(space.names, 0.999))
    assert largest["cache_size"] > 8 * 2**20
    assert problem.affords(largest)
    assert not problem.affords({**largest, "cache_size": 2**30})


def test_write_amplification_of_a_load_that_writes_nothing_is_refused_at_once():
    for objective in ("paper", "waf", "pareto"):
        with pytest.raises(
            InputError, match=rf"objective: {objective} needs the metric waf, .* reading"
        ):
            reading(objective=objective)
    assert reading(objective="rate").objective["name"] == "rate"
    assert reading(objective="paper", workload=BESIDE).objective["name"] == "paper"


def test_where_no_objective_is_named_it_is_one_that_the_load_serves():
    assert specify(workload=READS).objective["name"] == "reading"
    assert specify(workload=READS).objective["name"] == "reading"
    assert specify(workload=BESIDE).objective["name"] == "reading"
    assert specify().objective["name"] == "paper"


@pytest.mark.parametrize("name", [name for name in SHIPPED if load_workload(name).prepare])
def test_every_shipped_load_of_a_prepared_database_that_reads_is_judged_by_reading(name: str):
    workload = load_workload(name)
    reads = "read_p99" in db_bench_metrics(workload)
    assert usual_objective(workload) == ("reading" if reads else "paper")
    assert reads == (not name.startswith(("deletes", "read-modify", "seeks", "prefix", "bursts")))
    assert {"rate", "whole_waf", "sa"} <= {*db_bench_metrics(workload)}


def test_a_prepared_database_that_is_only_overwritten_has_no_latencies_of_reads():
    load = replace(load_workload(BESIDE), benchmarks=("overwrite",), measured=("overwrite",))
    assert usual_objective(load) == "paper"
    both = ("overwrite", "readrandomwriterandom")
    mixed = replace(load, benchmarks=both, measured=both[1:])
    assert usual_objective(mixed) == "reading"
    assert usual_objective(replace(mixed, measured=both[:1])) == "paper"


def test_the_metrics_of_a_reading_load_are_known_before():
    reads, beside = (db_bench_metrics(load_workload(name)) for name in (READS, BESIDE))
    assert {"read_p99", "whole_waf", "prepare_seconds"} <= set(reads) & set(beside)
    assert "waf" in beside and "waf" not in reads
    assert "write_p99" not in (*reads, *beside)
    assert "whole_waf" not in db_bench_metrics(load_workload("load-quick"))


def test_a_limit_of_what_is_not_measured_is_refused():
    with pytest.raises(
        InputError, match=r"no measurement of the workload \S+ has 'waf'; name one of"
    ):
        reading(limits=["waf <= 3"])


def test_the_confirmation_prepares_a_load_as_many_times_larger():
    confirm = resolve(reading(confirm_scale=16), None).problem.confirm
    assert (confirm.num, confirm.prepare.num) == (240_000, 240_000)


def test_a_load_of_seeks_has_an_objective_that_it_serves():
    load = replace(load_workload(READS), benchmarks=("seekrandom",), measured=("seekrandom",))
    assert usual_objective(load) == "rate"


def families(benchmarks: tuple[str, ...], count: int) -> Workload:
    load = Workload(name="w", num=400_000, benchmarks=benchmarks, measured=benchmarks)
    return replace(load, flags=(("num_column_families", count),))


def test_the_memory_of_a_job_holds_the_write_buffers_of_every_column_family():
    asked = specify()
    load = workload_document(families(("fillrandom",), 2))
    two = asked.model_copy(update={"workload": load})
    problem = resolve(two, None).problem
    assert problem.memory == memory_bytes(problem.space.context) == (2 * 128 + 8) * 2**20
    for share in (0.1, 0.5, 0.999):
        values = problem.configuration(dict.fromkeys(problem.space.names, share))
        assert problem.affords(values)
        buffers = int(values["write_buffer_size"]) * int(values["max_write_buffer_number"])
        assert 2 * buffers <= 2 * 128 * 2**20


def test_space_amplification_that_nothing_can_tell_is_refused_before_a_job_starts():
    load = families(("fillseq", "deleterandom"), 2)
    assert usual_objective(load) == "waf"
    with pytest.raises(InputError, match=r"paper needs the metric sa, .* deleterandom leaves"):
        require_terms(load_objective("paper"), load)
    require_terms(load_objective("waf"), load)
