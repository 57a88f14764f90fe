import json
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from jobs.regression.detection import (
    EnvironmentDifference,
    RegressionReport,
    detect_regressions,
    series_of,
)
from jobs.regression.report import regression_page, report_lines
from jobs.specification.named_files import specify
from jobs.specification.specification import Specification
from tests.support.jobs.batch_nights import ASKED, ENVIRONMENT, nights_of, result

BASE = {"waf": 2.3, "sa": 0.62, "time": 1.1, "rate": 110_000.0}
SEEDS = 10
NEW_KERNEL = ENVIRONMENT | {"kernel": "6.6.1", "warnings": ["Assertions are enabled"]}


def slowed(
    by: float, *, metric: str = "time", since: int = 20, nights: int = 26, seed: int = 1
) -> RegressionReport:
    rng = np.random.default_rng(seed)
    results = []
    for night in range(nights):
        noise = {
            name: value * np.exp(0.01 * rng.standard_normal()) for name, value in BASE.items()
        }
        late = night >= since
        noise[metric] *= by if late else 1.0
        changes = {name: -5 + rng.standard_normal() for name in BASE}
        results.append(
            result(noise, changes=changes, environment=NEW_KERNEL if late else ENVIRONMENT)
        )
    return detect_regressions(nights_of(results))


def test_a_new_kernel_that_slows_is_told_with_date_size_and_p() -> None:
    watched = slowed(1.12)
    (found,) = watched.findings
    assert (found.series.kind, found.series.metric, found.worse) == ("default", "time", True)
    document = watched.document()
    (told_as,) = json.loads(json.dumps(document, allow_nan=False))["findings"]
    assert told_as["since"].startswith("2026-11-21")
    assert told_as["since_low"] <= told_as["since"] <= told_as["since_high"]
    assert told_as["low"] < 12 < told_as["high"] and told_as["unit"] == "percent"
    assert told_as["p"] <= 0.01 / len(watched.series)
    assert told_as["nights_before"] == 20 and told_as["nights_after"] == 6
    assert {d["name"]: (d["before"], d["after"]) for d in told_as["environment"]} == {
        "kernel": ("6.1.0", "6.6.1"),
        "warnings": ([], ["Assertions are enabled"]),
    }
    line = report_lines(watched)[0]
    assert line.startswith("load/default: since 2026-11-21")
    assert "TIME of the default +1" in line and ", worse; p < 0.001, found" in line
    assert "kernel changed from 6.1.0 to 6.6.1 on that night" in line
    assert "now 'Assertions are enabled'" in line
    assert report_lines(watched)[-1].startswith("26 nights, 9 series tested on the newest")
    assert document == slowed(1.12).document()


def test_another_build_is_told_in_one_phrase() -> None:
    """As a chat gets it: hosts repeat all that is known of each build."""
    watched = slowed(1.12)
    (found,) = watched.findings
    old, new = {"digest": "b4074c6845211394"}, {"digest": "7cf1319a13c7b7be"}
    builds = [[{"name": "default", "version": v, **each}] for v, each in
              (("7.8.3", old), ("9.10.0", new))]  # fmt: skip
    changed = {
        "build.compiled": ("2023", "2025"), "build.digest": (*old.values(), *new.values()),
        "db_bench": ("/old", "/new"), "hosts.a.builds": builds, "kernel": ("6.1", "6.6"),
        "rocksdb": ("7.8.3", "9.10.0"),
    }  # fmt: skip
    differences = tuple(
        EnvironmentDifference(found.alarm.since, name, *both) for name, both in changed.items()
    )
    told = replace(watched, findings=(replace(found, differences=differences),))
    assert report_lines(told)[0].endswith(
        "; RocksDB changed from 7.8.3 to 9.10.0 (SHA-256 b4074c684521 to 7cf1319a13c7) on that "
        "night; kernel changed from 6.1 to 6.6 on that night"
    )
    (hosts,) = (each.words() for each in differences if each.name == "hosts.a.builds")
    assert hosts == (
        "hosts.a.builds: no longer default 7.8.3 b4074c684521, now default 9.10.0 7cf1319a13c7"
    )


@pytest.mark.slow
@pytest.mark.parametrize("metric", BASE)
def test_five_percent_is_found_in_any_metric_and_none_is_not(metric: str) -> None:
    """Where nights differ by 1%; what other noise leaves of it is in docs/results/watch.md."""
    worse = 1 / 1.05 if metric == "rate" else 1.05
    found, wrongly = 0, 0
    for seed in range(SEEDS):
        planted = [each for each in slowed(worse, metric=metric, nights=30, seed=seed).findings
                   if (each.series.kind, each.series.metric) == ("default", metric)]  # fmt: skip
        found += any(each.worse and abs(each.alarm.since - 20) <= 1 for each in planted)
        wrongly += bool(slowed(1.0, metric=metric, nights=30, seed=seed).findings)
    assert found >= SEEDS - 1
    # One false alarm in 100 nights is declared: of 30 nights in a quarter of the batches.
    assert wrongly <= SEEDS // 2


def test_faster_is_better_and_more_is_better_for_rates() -> None:
    (found,) = slowed(0.88).findings
    assert not found.worse and found.amount.change < 0
    rng = np.random.default_rng(3)
    results = [
        result(BASE | {"rate": 1e5 * np.exp(0.01 * rng.standard_normal() - 0.1 * (n >= 15))})
        for n in range(20)
    ]
    (found,) = detect_regressions(nights_of(results)).findings
    assert (found.series.metric, found.worse) == ("rate", True)


def test_worsened_is_about_the_newest_night_alone() -> None:
    reported = slowed(1.12).findings[0].alarm.reported
    assert slowed(1.12, nights=reported + 1).worsened
    assert not slowed(1.12, nights=reported + 2).worsened
    assert not slowed(0.88, nights=slowed(0.88).findings[0].alarm.reported + 1).worsened


def test_the_best_is_followed_against_its_own_default_also_when_unconfirmed() -> None:
    rng = np.random.default_rng(4)
    results = [
        result(
            BASE,
            changes={name: -10.0 + rng.standard_normal() for name in BASE},
            fitness=300 - 200 * (night >= 15) + 10 * rng.standard_normal(),
        )
        for night in range(22)
    ]
    findings = detect_regressions(nights_of(results)).findings
    (found,) = [each for each in findings if each.series.metric == "fitness"]
    assert found.series.kind == "best" and found.alarm.since == 15
    assert found.worse and found.amount.unit == "absolute"
    assert found.amount.low < -200 < found.amount.high
    assert any(
        "no recorded property" in line
        for line in report_lines(detect_regressions(nights_of(results)))
    )


def test_another_workload_starts_anew_and_is_no_change() -> None:
    other = specify(workload="load", trials=90).document()
    results = [result(BASE, job=ASKED)] * 12
    results += [result(BASE | {"time": 11.0}, job=other)] * 12
    watched = detect_regressions(nights_of(results))
    assert not watched.findings
    assert {(s.metric, int(np.isfinite(s.values).sum())) for s in watched.series} == {
        (name, 12) for name in BASE
    }


def test_nights_that_failed_and_metrics_at_zero_are_borne() -> None:
    rng = np.random.default_rng(5)
    values = [rng.normal() - 6 * (night >= 14) for night in range(20)]
    results: list[object] = [result(BASE | {"sa": value}) for value in values]
    results[3] = results[16] = None
    (found,) = detect_regressions(nights_of(results)).findings  # type: ignore[arg-type]
    assert found.series.metric == "sa" and found.amount.unit == "absolute"
    assert found.amount.low < -6 < found.amount.high and not found.worse


def test_a_clock_that_was_wrong_once_does_not_stop_the_watch() -> None:
    nights = nights_of([result(BASE | {"time": 1.1 + 0.3 * (n >= 12)}) for n in range(18)])
    nights[5] = replace(nights[5], at=nights[-1].at + timedelta(days=400))
    (found,) = detect_regressions(nights).findings
    assert found.alarm.since == 12


def test_few_nights_and_none() -> None:
    assert "none tested" in report_lines(detect_regressions([]))[-1]
    few = detect_regressions(nights_of([result(BASE)] * 4))
    assert few.tested == 0 and not few.worsened


def test_the_page_marks_changes_and_shows_names_as_text() -> None:
    results = [result(BASE | {"time": 1.1 + 0.3 * (n >= 12)}) for n in range(18)]
    page = regression_page(
        detect_regressions(nights_of(results, item="<b>load</b>")), "night & day"
    ).decode()
    assert "<b>load" not in page and "night &amp; day" in page
    assert page.count('class="plot"') == 4 and page.count('"opacity":0.18') == 1
    assert "default-src 'none'" in page


def test_the_default_is_the_median_of_all_runs_of_the_baseline_not_of_the_proof() -> None:
    nights = nights_of([result(BASE)] * 3)
    shown = {each.metric: each.shown.tolist() for each in series_of(nights)}
    assert shown == {name: [value] * 3 for name, value in BASE.items()}


@pytest.mark.parametrize("name", list(Specification.model_fields))
def test_any_setting_that_changes_ends_the_series_of_the_best(name: str):
    """But the seed and where a space came from: they are no setting of the search."""
    value: object = "another"
    if isinstance(ASKED[name], dict):
        value = ASKED[name] | {"name": value}
    other = ASKED | {name: value}
    changes = dict.fromkeys(BASE, -5.0)
    nights = nights_of([result(BASE, changes=changes, job=job) for job in (ASKED, other, other)])
    fitness = [each for each in series_of(nights) if each.metric == "fitness"]
    goes_on = name in ("seed", "shipped_space", "no_price")
    assert len(fitness) == (1 if goes_on else 2)
