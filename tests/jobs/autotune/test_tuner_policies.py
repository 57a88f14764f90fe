import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.autotune.request import (
    POLICIES,
    Marks,
    Switch,
    WriteCounts,
    first_switch,
    next_switch,
)
from sampler.common.errors import InputError

MARKS = Marks(capacity=100.0, step=10.0)
START = WriteCounts(0.0, 0, 0)


def after(on: bool, flush: float, compaction: float, policy: str = "tuned") -> bool:
    """Whether compaction is on after a step of so many bytes a second each."""
    reading = WriteCounts(10.0, round(flush * 10), round((flush + compaction) * 10))
    return next_switch(policy, MARKS, Switch(on, START), reading).on


@pytest.mark.parametrize(
    ("flush", "compaction", "was_on", "was_off"),
    [
        (40, 20, True, True),  # below both marks: on
        (40, 200, True, False),  # compaction alone never stops compaction (section 3.3.6)
        (60, 20, True, False),  # between the marks everything stays as it is
        (60, 30, False, False),  # both reached: off
        (95, 0, False, False),
        (49, 41, True, True),
        (0, 0, True, False),  # nothing was written: nothing is known
    ],
)
def test_tuned_switches_by_two_marks(
    flush: float, compaction: float, was_on: bool, was_off: bool
) -> None:
    assert after(True, flush, compaction) is was_on
    assert after(False, flush, compaction) is was_off


def test_tuned_looks_once_a_step_and_not_before() -> None:
    before = first_switch("tuned", START)
    assert next_switch("tuned", MARKS, before, WriteCounts(9.9, 900, 900)) is before
    assert next_switch("tuned", MARKS, before, WriteCounts(10.0, 900, 900)).on is False


@pytest.mark.parametrize("policy", ["on", "lifted", "off"])
def test_the_other_policies_never_switch(policy: str) -> None:
    before = first_switch(policy, START)
    assert before.on is (policy != "off")
    assert next_switch(policy, MARKS, before, WriteCounts(1e6, 10**12, 10**13)) is before


def simulate(flush: float, compaction: float, *, seconds: int = 1000) -> tuple[float, float]:
    """The share of time that compaction was on, and its bytes/s, under ``duty``.

    Compaction writes at a fixed rate while it is on.
    """
    switch, flushed, compacted, on = first_switch("duty", START), 0.0, 0.0, 0
    for second in range(1, seconds + 1):
        flushed += flush
        compacted += compaction if switch.on else 0.0
        on += switch.on
        reading = WriteCounts(float(second), round(flushed), round(flushed + compacted))
        switch = next_switch("duty", MARKS, switch, reading)
    return on / seconds, compacted / seconds


@settings(deadline=None, max_examples=25)
@given(st.floats(0, 99), st.floats(50, 400))
def test_duty_lets_compaction_take_what_flushes_leave(flush: float, compaction: float) -> None:
    share, rate = simulate(flush, compaction)
    left = MARKS.capacity - flush
    assert rate <= left * 1.03 + compaction * 0.02 + 3
    assert rate >= min(left, compaction) * 0.97 - compaction * 0.02 - 3
    assert share == pytest.approx(min(left / compaction, 1.0), abs=0.08)


def test_duty_holds_all_compaction_back_where_flushes_fill_the_disk() -> None:
    share, _ = simulate(100, 50)
    assert share < 0.05  # until the smoothed rate of flushes has risen


def test_idle_hours_buy_duty_no_burst_longer_than_a_step() -> None:
    switch = first_switch("duty", START)
    for hour in range(1, 4):
        switch = next_switch("duty", MARKS, switch, WriteCounts(3600.0 * hour, 0, 0))
    assert switch.credit == MARKS.capacity * MARKS.step


@settings(deadline=None, max_examples=25)
@given(
    st.sampled_from(POLICIES),
    st.lists(st.tuples(st.floats(0.01, 100), st.integers(0, 10**6), st.integers(0, 10**6))),
)
def test_a_policy_is_a_function_of_what_was_counted(
    policy: str, steps: list[tuple[float, int, int]]
) -> None:
    def whole() -> Switch:
        switch, at, flushed, background = first_switch(policy, START), 0.0, 0, 0
        for passed, flush, compaction in steps:
            at, flushed = at + passed, flushed + flush
            background += flush + compaction
            switch = next_switch(policy, MARKS, switch, WriteCounts(at, flushed, background))
        return switch

    assert whole() == whole()


@pytest.mark.parametrize("field", ["capacity", "low", "high", "full", "step"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_marks_that_mean_nothing_are_refused(field: str, value: float) -> None:
    with pytest.raises(InputError, match="above 0"):
        Marks(**{field: value})
