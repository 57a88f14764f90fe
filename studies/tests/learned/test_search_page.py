"""Raw results are kept, not made twice, and become the page."""

import argparse
import json
from dataclasses import replace

import pytest

from sampler.common.errors import InputError
from studies.search.__main__ import run_missing, seeds_of
from studies.search.best import Best, Effort
from studies.search.functions import Known
from studies.search.page import Key, Result, append_result, read_results, write_page
from studies.search.run import Judged
from studies.search.truth import Tuned
from studies.tests.learned.toy_function import toy

KNOWN = Known(
    digest="abc",
    tuned={"waf": Tuned({}, 0.87)},
    best=Best(1000.0, {}, (1000.0, 900.0)),
    runs=688,
    default_runs=27,
    scatter={"waf": 0.035},
    off={"waf": 0.01},
)


class ToyFunctions:
    """Meets what a run asks of `Functions`."""

    def __init__(self):
        self.made = 0

    def digest(self, _problem, _family):
        return "abc"

    def make(self, _problem, _family):
        self.made += 1
        return toy(), KNOWN


def asked(**more):
    given = {"strategies": ("random",), "problems": ("load",), "truths": ("boosting",)}
    return argparse.Namespace(**{**given, "seeds": 2, "few": 1, "evaluations": (25,), **more})


def result(strategy, seed, *fitness, digest="abc", function="load/boosting"):
    judged = tuple(Judged(25 * 2**at, value, value + 10, 0.5) for at, value in enumerate(fitness))
    return Result(Key(function, digest, strategy, seed, 50), judged)


def test_what_is_there_is_not_run_again(tmp_path):
    functions, raw = ToyFunctions(), tmp_path / "search.jsonl"
    run_missing(functions, raw, asked())
    once = raw.read_bytes()
    assert [r.key.seed for r in read_results(raw)] == [0, 1]
    run_missing(functions, raw, asked())
    assert (functions.made, raw.read_bytes()) == (1, once)
    run_missing(functions, raw, asked(seeds=3, strategies=("random", "lhs")))
    keys = [(r.key.strategy, r.key.seed) for r in read_results(raw)]
    assert keys[2:] == [("lhs", 0), ("lhs", 1), ("random", 2), ("lhs", 2)]
    assert raw.read_bytes().startswith(once)


def test_what_takes_long_has_fewer_seeds():
    given = asked(seeds=20, few=5)
    at = {(name, n): seeds_of(name, n, given) for name in ("tpe", "smac") for n in (200, 400)}
    assert at == {("tpe", 200): 20, ("tpe", 400): 5, ("smac", 200): 5, ("smac", 400): 5}
    assert seeds_of("smac", 200, asked(seeds=3, few=5)) == 3


def test_every_budget_is_run(tmp_path):
    raw = tmp_path / "search.jsonl"
    run_missing(ToyFunctions(), raw, asked(evaluations=(25, 201), strategies=("random",)))
    keys = [(r.key.evaluations, r.key.seed) for r in read_results(raw)]
    assert keys == [(25, 0), (201, 0), (25, 1)]


def test_a_line_that_was_torn_off_is_made_again(tmp_path):
    raw = tmp_path / "search.jsonl"
    run_missing(ToyFunctions(), raw, asked())
    whole = raw.read_bytes()
    raw.write_bytes(whole[:-40])
    assert [r.key.seed for r in read_results(raw)] == [0]
    run_missing(ToyFunctions(), raw, asked())
    rows = [json.loads(line) for line in raw.read_text().splitlines()]
    assert [row["seed"] for row in rows] == [0, 1]
    again = [[j.fitness for j in r.judged] for r in read_results(raw)]
    raw.write_bytes(whole)
    assert again == [[j.fitness for j in r.judged] for r in read_results(raw)]


def test_a_file_of_something_else_is_refused(tmp_path):
    raw = tmp_path / "search.jsonl"
    raw.write_text('{"trial": 1}\n')
    with pytest.raises(InputError, match=r"line 1 of .* is no result"):
        read_results(raw)


def test_the_page_is_made_from_the_raw_results(tmp_path):
    raw, out = tmp_path / "search.jsonl", tmp_path / "page"
    results = [
        result("random", 0, 100, 300),
        result("random", 1, 300, 500),
        result("genetic", 0, 400, 1250),
        result("genetic", 1, 9000, 9000, digest="old"),
    ]
    for each in results:
        append_result(raw, each.key, each.judged)
    known = {"load/boosting": KNOWN}
    text = write_page(out, "make prove-search", read_results(raw), known, Effort())
    assert out.with_suffix(".md").read_text() == text
    rows = [line for line in text.splitlines() if line.startswith("| random")]
    # A run went beyond the long search: the best that is known is 1250.
    assert rows[0] == "| random | 0.160 ± 0.080 (2) | 0.320 ± 0.080 (2) | 400 ± 100 (2) |"
    assert rows[1] == "| random | 2 | 0.0100 ± 0.0000 | 10 ± 0 |"
    assert "| genetic | 0.320 (1) | 1.000 (1) | 1,250 (1) |" in text
    assert "3 runs are in the tables, 1 of functions that have changed since are not" in text
    assert "| load/boosting | 688 | 27 | waf 0.87 | waf 3.5% | waf +1.0% | 1,000 |" in text


def test_where_nothing_is_better_there_is_no_share(tmp_path):
    known = {"null/none": replace(KNOWN, best=Best(0.0, {}, (0.0,)), tuned={})}
    results = [result("random", seed, 0.0, 0.0, function="null/none") for seed in (0, 1)]
    text = write_page(tmp_path / "page", "make prove-search", results, known, Effort())
    assert "| random | 2 | 0.0100 ± 0.0000 | 10 ± 0 |" in text
    assert "Share of the best that exists" not in text
