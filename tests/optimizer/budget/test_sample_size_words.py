import pytest

from optimizer.budget.power import parse_detect, sample_size_words
from sampler.common.errors import InputError

PLANNED = {
    "change": 5.0, "level": 0.8, "metric": "time", "noise": 7.2, "runs": 5, "needed": 37,
    "pairs": 20, "smallest_change": 6.91, "trials": 164,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "change", "metric"),
    [
        ("5%", 0.05, None),
        ("5", 0.05, None),
        ("0.5%", 0.005, None),
        (" 12.5 % ", 0.125, None),
        ("rate=5%", 0.05, "rate"),
        (" p99.9 = 3 ", 0.03, "p99.9"),
        ("1000%", 10.0, None),
    ],
)
def test_a_change_in_percent_is_read(text: str, change: float, metric: str | None):
    assert parse_detect(text) == (pytest.approx(change), metric)


@pytest.mark.parametrize(
    ("text", "mend"),
    [
        ("0.05", "0.05 may mean 0.05% or 5%; write it with the %"),
        ("rate=0.05", "or 5%"),
        ("much", "'much' is not a change in percent; write a change such as 5%"),
        ("", "write a change such as 5%"),
        ("rate=", "such as rate=5%"),
        ("=5%", "names no metric"),
        ("0%", "out of range; write a change above 0%"),
        ("-5%", "out of range; write a change above 0%"),
        ("nan%", "out of range; write a change above 0%"),
        ("inf", "up to 1000%"),
        ("1001%", "up to 1000%"),
        ("5%%", "not a change in percent"),
    ],
)
def test_what_is_none_is_refused_with_the_mend(text: str, mend: str):
    with pytest.raises(InputError) as refused:
        parse_detect(text)
    assert str(refused.value).startswith("detect: ")
    assert mend in str(refused.value)


def test_the_field_is_named_as_it_was_given():
    with pytest.raises(InputError, match=r"^detect: "):
        parse_detect("much", field="detect")


class TestTold:
    def test_too_small_a_budget_is_a_warning_with_the_one_that_would_do(self):
        assert sample_size_words(PLANNED) == (
            "warning: detecting a change of 5% takes 37 pairs (noise of 5 baseline runs: time "
            "7.2%), but the budget has 20, which detect 6.9%; 164 trials are enough"
        )

    def test_a_budget_that_holds_what_is_needed_is_no_warning(self):
        line = sample_size_words({**PLANNED, "needed": 20})
        assert line.startswith("detecting a change of 5% takes 20 pairs")
        assert line.endswith("; 20 are planned")

    def test_no_budget_is_named_that_nobody_would_wait_for(self):
        line = sample_size_words({**PLANNED, "needed": 10_000, "trials": None})
        assert "takes more than 10000 pairs" in line
        assert line.endswith("which detect 6.9%")
