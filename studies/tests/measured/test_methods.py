"""The bake-off: equal seconds for every method, known settings beside searches."""

import re
from dataclasses import replace

import pytest

from jobs.specification.resolved_job import resolve
from jobs.specification.start_from import starting_points
from optimizer.evaluation.evaluation import Evaluation
from optimizer.strategies.registry import find_strategy
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Purpose
from sampler.common.errors import InputError
from sampler.workload.workload_file import load_workload
from studies.methods.along import best_so_far
from studies.methods.cases import Case, cases_of, paced
from studies.methods.methods import KNOW, METHODS, Begun, methods_of
from studies.methods.page import write_page
from studies.real_search.book import Book
from studies.real_search.course import run_seed
from studies.real_search.side_by_side import run_again
from studies.real_search.summary import by_strategy, compared, winners_of
from studies.real_search.tables import winners_table
from studies.tests.measured.toy_study import ToyBench, toy_study

SECONDS = 24.0  # a run of the toy takes one
ROUNDS = 2
MIB = 2**20
_INTERVAL = re.compile(r"\[[-+\d.,]+, [-+\d.,]+\]")


@pytest.fixture(scope="module")
def problem() -> Problem:
    """The load of the bake-off at four times the memory."""
    found = resolve(Case("studies/methods/load.toml", 4).specification, None).problem
    return replace(found, strategy="")


def test_every_load_holds_four_times_the_memory():
    for case in cases_of(("load", "mixed", "overwrite"), (1, 4)):
        own = replace(case, workload=f"studies/methods/{case.workload}.toml")
        memory = resolve(own.specification, None).problem.memory
        assert memory == own.multiple * 136 * 2**20
        assert load_workload(own.workload).scale == 128


def test_known_settings_are_proposed_once_and_keep_the_memory(problem: Problem):
    methods = methods_of(problem, METHODS)
    assert tuple(methods) == METHODS
    seen = set()
    for name in KNOW:
        history = History()
        proposal = methods[name].propose(Evaluation(problem, history), number=4, explore=30)
        assert proposal is not None and problem.affords(proposal.configuration)
        seen.add(str(sorted(proposal.configuration.items())))
    assert len(seen) == len(KNOW)


def test_the_search_with_models_begins_where_a_job_of_it_begins(problem: Problem):
    forest = methods_of(problem, ["forest"])["forest"]
    assert isinstance(forest, Begun)
    proposal = forest.propose(Evaluation(problem, History()), number=4, explore=30)
    assert proposal is not None and proposal.why.startswith("starting point benchmark.sh")


@pytest.mark.parametrize(("multiple", "buffers"), [(1, {}), (4, {"write_buffer_size": 220 * MIB})])
def test_so_much_is_left_of_the_guide_on_two_threads(multiple: int, buffers: dict):
    """docs/results/methods_compared.md: no blob files, no sizes of files and levels, no codec."""
    problem = resolve(Case("studies/methods/load.toml", multiple).specification, None).problem
    (start,) = starting_points(problem, [{"name": "guide:2"}])
    baseline = problem.space.default_configuration()
    found = problem.configuration(start.point)
    assert {name: value for name, value in found.items() if value != baseline.get(name)} == {
        **buffers,
        "level0_slowdown_writes_trigger": 8,
        "level0_stop_writes_trigger": 12,
        "max_bytes_for_level_multiplier": 8.0,
        "level_compaction_dynamic_level_bytes": True,
        "block_size": 8192,
        "bytes_per_sync": 8 * MIB,
    }


def test_an_unknown_method_is_named(problem: Problem):
    with pytest.raises(InputError, match="'magic' is none of paper, greedy, forest"):
        methods_of(problem, ["magic"])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("methods")
    study = replace(toy_study(ToyBench(), evaluations=0), seconds=SECONDS)
    book = Book(out / "toy-1x.jsonl", study.digest)
    study = paced(study, book)
    strategies = {"paper": find_strategy("genetic"), "forest": find_strategy("forest")}
    for seed in (1, 2):
        run_seed(study, book, strategies, seed)
        run_again(study, book, seed, ROUNDS)
    return out, study, book


def test_the_budget_is_of_seconds_and_the_pace_is_measured_once(finished):
    out, study, book = finished
    assert study.evaluations == SECONDS
    assert paced(study, book).evaluations == SECONDS and len(list(book.rows("pace"))) == 3
    for seed in (1, 2):
        for name in ("paper", "forest"):
            rows = list(book.rows("trial", seed=seed, strategy=name))
            assert sum(row["bench_seconds"] for row in rows) == SECONDS
            new = [row for row in rows if row["purpose"] == Purpose.CANDIDATE]
            assert len(new) < SECONDS  # the baseline has its share
    assert (out / "toy-1x.jsonl").exists()


def test_the_page_tells_of_winners_against_the_baseline(finished):
    out, study, book = finished
    page = write_page(out, "make prove-methods", [(Case("toy", 1), study, book)], ROUNDS)
    assert out.with_suffix(".md").read_text() == page
    winners = winners_of(book, study.seeded(1), ROUNDS)
    assert {winner.strategy for winner in winners} == {"paper", "forest"}
    (line,) = [each for each in page.splitlines() if each.startswith("| forest | 2 |")]
    (ahead,) = [
        each for each in page.splitlines() if each.startswith("| paper | ") and " of 2" in each
    ]
    assert "%" in line and "[" in ahead
    assert f"{SECONDS:.0f} seconds of the bench" in page
    assert "Over all cases" not in page


def test_over_all_cases_each_seed_of_each_case_counts(finished):
    out, study, book = finished
    cases = [(Case("toy", multiple), study, book) for multiple in (1, 4, 8)]
    page = write_page(out, "make prove-methods", cases, ROUNDS)
    summary = page.partition("## Over all cases")[2].partition("## toy-1x")[0]
    assert "Every seed of each of 3 cases" in summary
    (line,) = [each for each in summary.splitlines() if each.startswith("| forest | 6 |")]
    (own,) = {each for each in page.splitlines() if each.startswith("| forest | 2 |")}
    assert [cell.split(" [")[0] for cell in line.split("|")[3:]] == [
        cell.split(" [")[0] for cell in own.split("|")[3:]
    ], "the mean of three times the same is the same"
    (ahead,) = [each for each in summary.splitlines() if " of 6 |" in each]
    assert ahead.startswith("| paper |")


def test_two_seeds_have_no_interval(finished):
    out, study, book = finished
    page = write_page(out, "make prove-methods", [(Case("toy", 1), study, book)], ROUNDS)
    case = page.partition("## toy-1x")[2]
    (line,) = [each for each in case.splitlines() if each.startswith("| forest | 2 |")]
    assert all(cell.endswith(" [-]") for cell in line.strip("| ").split(" | ")[2:])
    (ahead,) = [each for each in case.splitlines() if each.endswith(" of 2 |")]
    assert ahead.split(" | ")[1].endswith(" [-]")
    assert not _INTERVAL.search(case)


def test_three_seeds_have_one(finished):
    _, study, book = finished
    found = [w for seed in (1, 2) for w in winners_of(book, study.seeded(seed), ROUNDS)]
    third = [replace(winner, seed=3) for winner in found if winner.seed == 1]
    groups = by_strategy([*found, *third])
    table = winners_table(groups, compared(study.problem.objective))
    assert "[-]" not in table
    assert len(_INTERVAL.findall(table)) == len(groups) * (
        2 + len(compared(study.problem.objective))
    )  # the fitness and the memory beside the metrics


def test_along_the_way_the_best_so_far_grows_to_the_best_of_all(finished):
    _, study, book = finished
    problem = study.seeded(1)
    history = book.history(problem, "forest")
    whole = Evaluation(problem, history).best_first(history.of(Purpose.CANDIDATE))
    seconds = [4.0, 8.0, 16.0, SECONDS]
    found = best_so_far(problem, history, [0.0, *seconds])
    assert found[0] is None and found[-1] == whole[0][0]
    for most, best in zip(seconds, found[1:], strict=True):  # a run takes a second
        assert best == max(value for value, trial in whole if trial.number <= most)
    assert found[1] < found[-1]


def test_the_page_tells_what_half_of_the_seconds_had_come_to(finished):
    out, study, book = finished
    cases = [(Case("toy", multiple), study, book) for multiple in (1, 4)]
    page = write_page(out, "make prove-methods", cases, ROUNDS)
    own = page.partition("## toy-1x")[2].partition("## toy-4x")[0]
    (head,) = [line for line in own.splitlines() if line.endswith("| 3 s | 6 s | 12 s | 24 s |")]
    assert head.startswith("| strategy | 3 s |")
    at = {}
    for seed in (1, 2):
        problem = study.seeded(seed)
        history = book.history(problem, "paper")
        at[seed] = best_so_far(problem, history, [12.0])[0]
    (line,) = [line for line in own.partition(head)[2].splitlines() if "| paper |" in line]
    early, _, half, _ = line.strip("| ").split(" | ")[1:]
    assert half == f"{(at[1] + at[2]) / 2:,.0f} [-]"
    assert early == "-", "three runs of the baseline take its three seconds"
    over_all = page.partition("Along the way")[2].partition("## toy-1x")[0]
    (line,) = [line for line in over_all.splitlines() if "| paper |" in line]
    assert line.split(" | ")[3].startswith(f"{(at[1] + at[2]) / 2:,.0f} ["), "of four seeds now"
