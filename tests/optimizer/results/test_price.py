"""The first line of a verdict, and what was paid: words that hold whatever was measured."""

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.budget.power import smallest_mean
from optimizer.confirmation.paired_tests import Change, with_adjusted_p
from optimizer.confirmation.proof import Verdict, judge
from optimizer.objective.objective import Limit, Objective, Term
from optimizer.objective.objective_file import load_objective
from optimizer.results.price import _GROUPS, LOSS, price_of, trade_words, traded
from sampler.workload.metric_table import READS
from sampler.workload.workload import Workload
from tests.support.optimizer.pretend_bench import problem_of

PAPER = load_objective("paper")
NAMES = ("waf", "sa", "time", "rate", *READS, "memory", "peak_rss", "cpu_seconds")


def verdict(changes: Mapping[str, Change], *, confirmed: bool = True) -> Verdict:
    return Verdict(
        confirmed=confirmed, fitness=1.0, low=0.0, high=2.0, p=0.01, pairs=5, baseline={},
        winner={}, changes=changes, why="",
    )  # fmt: skip


def by(percent: float, half: float = 1.0) -> Change:
    return Change(percent=percent, low=percent - half, high=percent + half, p=0.01)


EXAMPLE = {
    "waf": by(-43.2), "sa": by(20.4), "time": by(1.0, 5.0), "rate": by(38.0),
    "read_present": by(-3.0, 9.0), "read_absent": by(2.0, 9.0), "scan_short": by(-34.0, 16.0),
    "peak_rss": by(109.0), "memory": by(0.0, 0.0), "cpu_seconds": by(50.0),
}  # fmt: skip


def test_the_first_line_tells_the_trade():
    assert trade_words(PAPER, verdict(EXAMPLE)) == (
        "Better than the baseline: WAF -43% and RATE +38%; costs: SA +20%, short scans -34% and "
        "peak memory +109%; not significant: TIME and point reads"
    )


def test_nothing_proven_tells_it_too():
    said = trade_words(PAPER, verdict(EXAMPLE, confirmed=False), unread=True)
    assert said.startswith(
        "Nothing was proven better than the baseline; best candidate: WAF -43% and RATE +38%; "
        "costs: SA +20%, "
    )
    assert said.endswith("; not measured: reads")
    nothing = trade_words(PAPER, verdict({"waf": by(0.0, 3.0)}, confirmed=False))
    assert nothing == (
        "Nothing was proven better than the baseline; costs: none significant; "
        "not significant: WAF"
    )


def test_a_loss_that_cannot_be_excluded_is_told():
    reads = {name: by(-1.0, 30.0) for name in READS}
    said = trade_words(PAPER, verdict({"waf": by(-9.0), **reads, "peak_rss": by(2.0, 40.0)}))
    assert said.endswith("; not significant: reads (up to -31%) and peak memory (up to +42%)")


def test_the_smallest_cost_that_these_pairs_name_is_told():
    noise = [0.7, 1.4, 0.8, 1.3, 0.9, 1.2, 1.0]
    pairs = [
        ({"waf": 2.0, "rate": 100.0}, {"waf": 1.0 + n / 100, "rate": 95.0 * n}) for n in noise
    ]
    found = judge(Objective("o", (Term("waf", "min"), Term("rate", "max"))), pairs, planned=7)
    change = found.changes["rate"]
    # WAF is named, so the rate alone is left: the whole 5%, two-sided.
    logs = np.log(noise)
    smallest = smallest_mean(float(np.std(logs, ddof=1)), 7, 0.025)
    assert change.detectable == pytest.approx(100 * np.expm1(smallest))
    fall = -100 * np.expm1(-smallest)
    assert trade_words(PAPER, found).endswith(
        f"not significant: RATE (up to {change.low:.0f}%, detectable from -{fall:.0f}%)"
    )
    assert found.changes["waf"].detectable is None
    # A cost of that size is named with 80% probability.
    rng, scatter = np.random.default_rng(5), float(np.std(logs, ddof=1))
    drawn = rng.normal(smallest, scatter, (4000, 7))
    t = drawn.mean(axis=1) / drawn.std(axis=1, ddof=1) * np.sqrt(7)
    assert abs((t > 2.4469).mean() - 0.8) < 0.02


def test_reads_that_all_move_the_same_way_are_told_as_a_range():
    cold = {name: by(-50.0 - place) for place, name in enumerate(READS)}
    said = trade_words(PAPER, verdict({"waf": by(-9.0), **cold}))
    assert said == "Better than the baseline: WAF -9%; costs: reads -50% to -55%"
    same = trade_words(PAPER, verdict(dict.fromkeys(READS, by(40.0))))
    assert same == "Better than the baseline: reads +40%; costs: none significant"


def test_a_limit_tells_which_way_is_worse():
    limited = replace(PAPER, limits=(Limit("cpu_seconds", at_most_baseline=1.1),))
    rows = {row.metric: row for row in traded(limited, EXAMPLE)}
    assert rows["cpu_seconds"].worse and rows["cpu_seconds"].lost
    assert "cpu_seconds" not in {row.metric for row in traded(PAPER, EXAMPLE)}


changes = st.dictionaries(
    st.sampled_from(NAMES),
    st.builds(by, st.floats(-99, 500), st.floats(0, 200)),
    min_size=1,
)


def told(side: str) -> dict[str, tuple[float, float]]:
    """By name, the least and the largest change that one side of a trade tells, without sign."""
    form = r"(.+?) [+-]([\d.]+)%(?: to [+-]([\d.]+)%)?"
    items = re.split(r", | and ", side.rpartition(": ")[2].rstrip("; "))
    found = [each for each in (re.fullmatch(form, item) for item in items) if each]
    assert len({each[1] for each in found}) == len(found)
    return {each[1]: (float(each[2]), float(each[3] or each[2])) for each in found}


@given(changes, st.booleans())
def test_each_metric_is_told_once_and_on_the_side_that_is_shown(found, confirmed):
    said = trade_words(PAPER, verdict(found, confirmed=confirmed))
    won, _, rest = said.partition("costs: ")
    paid, _, unshown = rest.partition("not significant: ")
    for side, text in (("better", won), ("worse", paid)):
        rows = [row for row in traded(PAPER, found) if getattr(row, side)]
        there, moved = told(text), {row.metric for row in rows}
        for row in rows:
            groups = [name for name, of in _GROUPS.items() if row.metric in of <= moved]
            (name,) = {row.name, *groups} & there.keys()
            least, most = there[name]
            assert least - 0.5 <= abs(row.change.percent) <= most + 0.5
        assert len(there) <= len(rows)
    for row in traded(PAPER, found):
        assert not (row.better and row.worse)
        if row.change.low == row.change.high == 0:
            assert row.name not in {*told(won), *told(paid)}
        elif not (row.better or row.worse):
            assert row.change.low <= 0 <= row.change.high
            assert row.name in unshown or "reads" in unshown
    assert said.startswith("Better than" if confirmed else "Nothing was proven better")
    assert "\n" not in said and not re.search(r"nan|inf", said)


@given(changes)
def test_a_loss_is_sure_and_over_a_fifth(found):
    problem = problem_of("random")
    document = price_of(problem, verdict(found), []).document()
    for row in document["losses"]:
        up = row["metric"] in ("rate", *READS)
        assert -row["percent"] > LOSS and row["high"] < 0 if up else row["low"] > 0
        assert abs(row["percent"]) > LOSS
    assert {*document["measured"]} <= found.keys()
    assert document["not_measured"].keys() == {*READS} - found.keys()


@pytest.mark.parametrize(
    ("workload", "asked", "why"),
    [
        (Workload(name="w", external=True), True, "your own runner measures, outside Rocktune"),
        (Workload(name="w"), False, "not requested"),
        (Workload(name="w"), True, "a run of the proof lacks the metric"),
    ],
)
def test_what_was_not_measured_has_a_reason(workload: Workload, asked: bool, why: str):
    problem = replace(problem_of("random"), workload=workload, price=asked)
    document = price_of(problem, verdict({"waf": by(-9.0)}), []).document()
    assert document["not_measured"] == dict.fromkeys(READS, why)


def test_a_limit_on_a_read_has_every_run_read():
    problem = problem_of("random")
    assert (problem.read_rounds(proves=True), problem.read_rounds(proves=False)) == (3, 0)
    quiet = replace(problem, price=False)
    assert quiet.read_rounds(proves=True) == 0
    limited = replace(
        quiet, objective=replace(PAPER, limits=(Limit("scan_short", at_least_baseline=0.8),))
    )
    assert (limited.read_rounds(proves=True), limited.read_rounds(proves=False)) == (3, 1)


def test_stalls_are_named_and_from_0_without_a_percentage():
    rose = replace(verdict({"waf": by(-9.0), "stall_percent": by(320.0)}), winner={})
    assert "costs: stalls +320%" in trade_words(PAPER, rose)
    ends = {"baseline": {"stall_percent": 0.0}, "winner": {"stall_percent": 3.2}}
    said = "costs: stalls from 0% to 3.2% of the time"
    assert said in trade_words(PAPER, replace(rose, **ends))
    ends = {"baseline": {"stall_percent": 0.149}, "winner": {"stall_percent": 1.997}}
    said = "costs: stalls from 0.15% to 2% of the time"
    assert said in trade_words(PAPER, replace(rose, **ends))
    never = trade_words(PAPER, verdict({"waf": by(-9.0), "stall_percent": by(0.0, 0.0)}))
    assert "stalls" not in never


def test_an_adjusted_p_value_decides_over_the_interval():
    single = by(-9.0).model_copy(update={"p_adjusted": 0.11})
    (row,) = traded(PAPER, {"waf": single})
    assert not (row.better or row.worse)
    (row,) = traded(PAPER, {"waf": single.model_copy(update={"p_adjusted": 0.04})})
    assert row.better and not row.worse


def test_p_values_are_corrected_for_all_that_may_be_named_and_moved():
    rows = {"waf": (-9.0, 1.0, 0.001), "sa": (2.0, 1.0, 0.02), "memory": (0.0, 0.0, 1.0),
            "cpu_seconds": (5.0, 1.0, 0.001)}  # fmt: skip
    found = {n: by(at, half).model_copy(update={"p": p}) for n, (at, half, p) in rows.items()}
    passed, failed = (
        with_adjusted_p(found, PAPER.named, passed=passed) for passed in (True, False)
    )
    assert [passed[n].p_adjusted for n in found] == [0.002, 0.02, None, None]
    # What the declared test does not use goes on to the metrics where it passes alone.
    assert [failed[n].p_adjusted for n in found] == [0.004, 0.04, None, None]
