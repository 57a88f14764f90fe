"""The page of Samsung's greedy tuning: the document's figures beside those of a made-up job."""

import math

import pytest

from jobs.archive import Archive
from jobs.specification.resolved_job import resolve
from optimizer.explanation.compared import BASELINE
from optimizer.results.result import result_document
from optimizer.run.planning import Budget
from sampler.space.space import digest
from sampler.space.starting_points import known_points
from studies.greedy.cases import CASES, CONTRIBUTORS, Asked
from studies.greedy.figures import figures_of, found_by
from studies.greedy.page import write_page
from studies.greedy.side_by_side import DOCUMENT, FOUND, order_of, rounds_of, subjects
from studies.reproduction.study import Study
from tests.support.optimizer.pretend_bench import Job, PretendBench

ASKED = Asked(CASES[0], 68, 1)
ENVIRONMENT = {"cores": 2, "cpu": "a made-up one", "rocksdb": "7.8.3"}


def lsm(configuration):
    """Larger levels and blocks serve more; nothing else matters."""
    gain = 0.1 * math.log2(configuration["max_bytes_for_level_base"] / 2**29)
    gain += 0.05 * math.log2(configuration["block_size"] / 4096)
    rate = 1e5 * (1 + gain)
    return {
        "waf": 3.0, "sa": 1.2, "time": 4e10 / rate**2, "rate": rate,
        "write_p99": 1e7 / rate, "cpu_percent": 50 + 1e6 / rate,
    }  # fmt: skip


@pytest.fixture(scope="module")
def study() -> Study:
    specification = ASKED.specification
    problem = resolve(specification, None).problem
    job = Job(problem, Budget(trials=68), PretendBench(lsm, noise=0.001))
    conclusion = job.run()
    result = result_document(conclusion, job=specification.document(), environment=ENVIRONMENT)
    trials = tuple(job.log.trials())
    return Study(Archive(specification, ENVIRONMENT, trials), trials, lambda: result, (), (), {})


def rows(study: Study) -> list[dict]:
    space = resolve(ASKED.specification, None).problem.space
    chosen = subjects(space, ASKED, found_by(study))
    assert chosen.keys() == {BASELINE, DOCUMENT, FOUND}
    return [
        {"case": ASKED.name, "round": number, "subject": subject, "digest": digest(configuration),
         "state": "done", "metrics": {
             "rate": 1000 * (100 + number + 20 * place), "memory": 2**30 * (3 + 5 * place),
             "peak_rss": 2**20 * (100 * number + 10 * place),
         }}
        for number in (1, 2, 3)
        for place, (subject, configuration) in enumerate(chosen.items())
    ]  # fmt: skip


def test_the_document_s_column_is_measured_whole():
    space = resolve(ASKED.specification, None).problem.space
    whole = subjects(space, ASKED, None)[DOCUMENT]
    assert (whole["cache_size"], whole["mmap_read"], whole["bytes_per_sync"]) == (
        4 * 2**30, True, 2 * 2**20
    )  # fmt: skip
    assert {**whole, **known_points()["samsung-80-20-snappy"].values} == whole


def test_a_case_s_job_is_what_the_terminal_is_asked_for():
    asked = ASKED.specification
    assert (asked.strategy, asked.space["name"], asked.trials) == ("greedy", "samsung", 68)
    assert ASKED.arguments()[:4] == ["--space", "samsung", "--workload", "samsung-80-20"]
    assert [case.percent for case in CASES] == [76.79, 72.79, 66.25, 46.72]


def test_the_page_shows_their_figures_and_ours(study: Study, tmp_path):
    page = write_page(tmp_path / "greedy.md", "make it", [figures_of(ASKED, study, rows(study))])
    assert page == (tmp_path / "greedy.md").read_text()
    rates = page.partition("## Memory")[0]
    (line,) = [each for each in rates.splitlines() if each.startswith("| 80-20-snappy |")]
    assert "| 179 K | 316 K | +76.8% |" in line and "| proven |" in line
    assert line.count("3 rounds") == 2 and "| 102.0 K |" in line
    best = next(each for each in page.splitlines() if "`max_bytes_for_level_base`" in each)
    assert "512 MiB | 4 GiB | +" in best and best.endswith(f"| {11.2}% |")
    absent = set(CONTRIBUTORS) - {"max_bytes_for_level_base", "block_size"}
    named = next(each for each in page.splitlines() if each.startswith("Among their six"))
    gained = {row["name"] for row in study.result["contributions"]["parameters"][:6]}
    assert {name for name in CONTRIBUTORS if name in named} == absent - gained
    assert "rate and write_p99" in page and "cpu_percent and rate" in page
    assert "rate and read_p99" not in page  # it was not measured


def test_the_page_shows_what_memory_each_may_hold_and_held(study: Study, tmp_path):
    kept = rows(study)
    page = write_page(tmp_path / "greedy.md", "make it", [figures_of(ASKED, study, kept)])
    table = page.partition("## Memory")[2].partition("\n## ")[0]
    (line,) = [each for each in table.splitlines() if each.startswith("| 80-20-snappy |")]
    held = "3 GiB | 200 MiB | 8 GiB | 210 MiB | 13 GiB | 220 MiB |"
    assert line == f"| 80-20-snappy | {held}"
    for row in kept:
        del row["metrics"]["peak_rss"]
    page = write_page(tmp_path / "greedy.md", "make it", [figures_of(ASKED, study, kept)])
    assert "| 80-20-snappy | 3 GiB | n/a | 8 GiB | n/a | 13 GiB | n/a |" in page


def test_runs_of_another_configuration_count_no_more(study: Study):
    kept = rows(study)
    digests = {row["subject"]: row["digest"] for row in kept}
    assert len(rounds_of(kept, ASKED.name, digests)[0]) == 3
    digests[FOUND] = "another"
    assert [set(each) for each in rounds_of(kept, ASKED.name, digests)] == [
        {BASELINE, DOCUMENT}
    ] * 3
    assert rounds_of(kept, "another case", digests) == []
    failed = [{**row, "state": "failed"} if row["round"] == 2 else row for row in kept]
    assert len(rounds_of(failed, ASKED.name, digests)) == 2


def test_each_round_has_an_order_of_its_own():
    orders = {tuple(order_of("abc", "case", number)) for number in range(20)}
    assert len(orders) > 3 and order_of("cba", "case", 1) == order_of("abc", "case", 1)
