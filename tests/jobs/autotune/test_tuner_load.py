import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.autotune.request import FULL_SECONDS, LoadShape
from jobs.autotune.run import Pace, off_spans
from jobs.charts.curves import Span
from sampler.common.errors import InputError


@pytest.mark.parametrize("name", FULL_SECONDS)
@pytest.mark.parametrize("share", [1.0, 0.1])
def test_a_shape_is_the_thesis_wave_however_long(name: str, share: float) -> None:
    shape = LoadShape(name=name, seconds=FULL_SECONDS[name] * share)
    assert shape.wave_seconds == pytest.approx(350 * share)
    for x in (0.0, 87.5, 175.0, 300.0, 349.9):  # equation 3.2, in MB/s
        wave = 75 * math.sin(math.pi / 175 * x + 3 * math.pi / 2) + 125
        assert shape.rate(x * share) == pytest.approx(wave * 1e6)
    assert name == "350" or shape.rate(shape.seconds) == 10e6


@settings(deadline=None, max_examples=25)
@given(st.sampled_from(sorted(FULL_SECONDS)), st.floats(1, 1000))
def test_planned_bytes_are_the_area_under_the_rate(name: str, seconds: float) -> None:
    shape = LoadShape(name=name, seconds=seconds)
    steps = 4000
    area = sum(shape.rate((i + 0.5) * seconds / steps) for i in range(steps)) * seconds / steps
    assert shape.planned_bytes == pytest.approx(area, rel=2e-3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "500"},
        {"seconds": 0.0},
        {"low": 300e6},
        {"tail": 0.0},
        {"seconds": float("nan")},
    ],
)
def test_a_shape_that_cannot_be_run_is_refused(wrong: dict) -> None:
    with pytest.raises(InputError, match=r"^[a-z_]+: "):
        LoadShape(**wrong)


@settings(deadline=None, max_examples=25)
@given(st.floats(1e3, 1e9), st.integers(1, 10**6))
def test_a_writer_that_is_never_held_up_keeps_the_rate(rate: float, size: int) -> None:
    pace, now = Pace(lambda _: rate), 0.0
    for _ in range(50):
        now = max(now, pace.due)
        pace = pace.wrote(size, now)
    assert pace.due == pytest.approx(50 * size / rate)


def test_a_writer_that_was_held_up_makes_up_for_a_tenth_of_a_second_only() -> None:
    pace = Pace(lambda _: 100.0).wrote(10, 0.0)
    late = pace.wrote(10, 60.0)
    assert late.due == pytest.approx(60.0 - 0.1 + 0.1)


def test_spans_are_what_lies_between_off_and_on() -> None:
    flips = [(0.0, True), (2.0, False), (3.0, True), (5.0, False)]
    assert off_spans(flips, 9.0) == (Span(2.0, 3.0), Span(5.0, 9.0))
    assert off_spans([(0.0, False)], 9.0) == (Span(0.0, 9.0),)
    assert off_spans([(0.0, True)], 9.0) == ()
