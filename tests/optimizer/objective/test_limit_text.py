"""Limits as users write them: ``rate >= 0.95 baseline``, ``write_p99 <= 200us``."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.objective.objective import Limit, limit_words, parse_limit
from sampler.common.errors import InputError

MIB = 2.0**20


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("waf <= 2.5", Limit("waf", at_most=2.5)),
        ("  waf<=2.5 ", Limit("waf", at_most=2.5)),
        ("rate >= 1e5", Limit("rate", at_least=1e5)),
        ("rate >= 90000 ops/s", Limit("rate", at_least=90000.0)),
        ("write_p99 <= 200us", Limit("write_p99", at_most=200.0)),
        ("write_p99 <= 0.2 ms", Limit("write_p99", at_most=200.0)),
        ("read_p999 <= 1s", Limit("read_p999", at_most=1e6)),
        ("write_p99 <= 200", Limit("write_p99", at_most=200.0)),
        ("time <= 1500ms", Limit("time", at_most=1.5)),
        ("cpu_seconds <= 250 ms", Limit("cpu_seconds", at_most=0.25)),
        ("stall_percent <= 5%", Limit("stall_percent", at_most=5.0)),
        ("peak_rss <= 512MiB", Limit("peak_rss", at_most=512 * MIB)),
        ("device_bytes <= 1.5 gib", Limit("device_bytes", at_most=1536 * MIB)),
        ("lsm_bytes >= 64 KiB", Limit("lsm_bytes", at_least=65536.0)),
        ("queue_ms <= 2 s", Limit("queue_ms", at_most=2000.0)),
        ("my score >= -3", Limit("my score", at_least=-3.0)),
        ("rate >= 0.95 baseline", Limit("rate", at_least_baseline=0.95)),
        ("rate >= 0.95x baseline", Limit("rate", at_least_baseline=0.95)),
        ("rate>=95% baseline", Limit("rate", at_least_baseline=0.95)),
        ("rate >= 95% of Baseline", Limit("rate", at_least_baseline=0.95)),
        ("p99 <= baseline", Limit("p99", at_most_baseline=1.0)),
    ],
)
def test_says_what_is_meant_in_the_metrics_own_unit(text: str, limit: Limit):
    assert parse_limit(text) == limit


@pytest.mark.parametrize(
    ("text", "mend"),
    [
        ("", "is not a limit; write it like"),
        ("fast", "is not a limit"),
        ("rate > 5", "is not a limit"),
        ("rate = 5", "is not a limit"),
        ("<= 5", "is not a limit"),
        ("1 <= rate <= 5", "is not a limit"),
        ("rate >=", "has no number"),
        ("rate >= much", "has no number"),
        ("rate >= x baseline", "has no number"),
        ("rate >= 0 baseline", "above 0 and at most"),
        ("rate >= -1 baseline", "above 0 and at most"),
        ("rate >= 1e9 baseline", "above 0 and at most"),
        ("rate >= 1e999", "is too large"),
        ("rate >= inf", "has no number"),
        ("rate >= nan", "has no number"),
        ("rate >= 1,000", "',000' is not a unit; use one of us, ms, s, B, KiB, MiB, GiB, TiB, %"),
        ("write_p99 <= 5 parsecs", "'parsecs' is not a unit"),
        ("rate >= 95%", "rate is measured in ops/s, not in %; write ops/s, or x baseline"),
        ("write_p99 <= 5MiB", "write_p99 is measured in us, not in MiB; write us, ms, s"),
        ("waf <= 5s", "'waf' is a ratio; write the number without s, or as 0.95 baseline"),
        ("p99 <= 5ms", "'p99' has no known unit"),
    ],
)
def test_anything_else_is_refused_with_the_mend(text: str, mend: str):
    with pytest.raises(InputError) as refused:
        parse_limit(text, field="limits")
    assert refused.value.field == "limits"
    assert mend in refused.value.problem
    assert "\n" not in str(refused.value)


@given(st.text(max_size=60))
def test_no_text_does_harm(text: str):
    try:
        limit = parse_limit(text)
    except InputError as refused:
        assert "\n" not in str(refused)
    else:
        assert limit.metric == limit.metric.strip() != ""


METRICS = st.sampled_from(
    ["rate", "time", "waf", "write_p99", "peak_rss", "stall_percent", "mine"]
)


@given(METRICS, st.integers(0, 10**11).map(float), st.booleans(), st.booleans())
def test_its_words_are_read_back(metric: str, value: float, most: bool, relative: bool):
    if relative:
        ratio = (value + 1) / 1e7
        limit = (
            Limit(metric, at_most_baseline=ratio)
            if most
            else Limit(metric, at_least_baseline=ratio)
        )
        again = parse_limit(limit_words(limit))
        found = again.at_most_baseline if most else again.at_least_baseline
        assert found == pytest.approx(ratio)
    else:
        limit = Limit(metric, at_most=value) if most else Limit(metric, at_least=value)
        assert parse_limit(limit_words(limit)) == limit


def test_words_of_two_bounds():
    both = Limit("peak_rss", at_most=512 * MIB, at_least_baseline=0.5)
    assert limit_words(both) == "peak_rss >= 0.5 baseline and <= 512 MiB"
