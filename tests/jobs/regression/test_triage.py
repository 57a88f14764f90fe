"""What a triage tells of a night from which on real runs of a default are planted to be others."""

import math
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine
from typer.main import get_command

from cli.main import app
from db.jobs.job_store import JobStore
from jobs.regression.detection import detect_regressions, regressions_of_batch
from jobs.regression.triage import CAUTION, counter_rows, triage_of
from sampler.common.errors import InputError
from tests.support.api.watched_nights import kept_nights
from tests.support.jobs.batch_nights import ASKED, result
from tests.support.jobs.recorded_nights import NEW, Planted, recorded_nights

pytestmark = pytest.mark.one_database

SLOWER = Planted(
    metrics={"waf": 1.4, "time": 1.5},
    counters={"compact.write.bytes": 1.9, "stall.micros": 3.0},
    options={"max_background_jobs": 1},
    environment={"build": NEW, "db_bench": "/opt/rocksdb-new/db_bench", "kernel": "6.6.1"},
)


SCALED = {**ASKED, "scale": 16, "column_family": "default"}


def taken(line: str) -> None:
    """Fails unless it is a command that rocktune takes."""
    _, name, *words = shlex.split(line)
    command = get_command(app).commands[name]  # type: ignore[attr-defined]
    command.make_context(name, words)


def triage(engine: Engine, planted: Planted, night: int | None = None, **more: Any) -> Any:
    kept_nights(engine, *recorded_nights(planted, **more))
    report = regressions_of_batch(engine, "nightly")
    return triage_of(engine, report, "nightly", night)


def test_night_builds_metrics_environment_and_counters_of_a_new_build(database: Engine):
    found = triage(database, SLOWER)
    assert found["night"]["at"].startswith("2026-11-17") and found["night"]["batch"] == 17
    assert found["before"]["at"].startswith("2026-11-16")
    assert {each["metric"] for each in found["moved"]} == {"waf", "time"}
    assert all(each["worse"] for each in found["moved"])
    assert found["steady"] == [
        "load/default: SA of the default", "load/default: RATE of the default"
    ]  # fmt: skip
    (item,) = found["items"]
    assert item["jobs"] == {"before": 16, "after": 17}
    assert item["builds"]["before"]["digest"] == "ab" * 32
    assert item["builds"]["after"]["program"] == "/opt/rocksdb-new/db_bench"
    assert item["hosts"] == {"before": ["bench"], "after": ["bench"]}
    changed = {each["name"]: each["words"] for each in item["environment"]}
    assert changed["kernel"] == "kernel changed from 6.1.0 to 6.6.1"
    assert {"build.digest", "build.compiled", "db_bench"} < changed.keys()
    assert item["options"] == [{"name": "max_background_jobs", "before": 2, "after": 1}]
    rows = {each["name"]: each for each in item["counters"]}
    assert rows["compact.write.bytes"]["percent"] == pytest.approx(90, abs=5)
    assert rows["stall.micros"]["apart"] and rows["compact.write.bytes"]["apart"]
    assert not rows["flush.write.bytes"]["apart"]
    assert item["nights"] == {"before": 5, "after": 5}
    assert item["command"] == (
        "rocktune upgrade-check /opt/rocksdb/db_bench /opt/rocksdb-new/db_bench "
        "--workload load-quick"
    )
    assert found["caution"] == CAUTION
    taken(item["command"])
    report = regressions_of_batch(database, "nightly")
    assert triage_of(database, report, "nightly", 17) == found
    with pytest.raises(InputError, match="no change at batch 5; choose one of 17"):
        triage_of(database, report, "nightly", 5)


@pytest.mark.parametrize(
    ("environment", "programs", "note"),
    [
        ({}, "OLD_DB_BENCH /opt/rocksdb/db_bench",
         "OLD_DB_BENCH is the program before the change: RocksDB 7.8.3 (SHA-256 abababababab)"),
        ({"db_bench": None}, "/opt/rocksdb/db_bench NEW_DB_BENCH",
         "NEW_DB_BENCH is the program after the change: RocksDB 7.8.3 (SHA-256 cdcdcdcdcdcd)"),
    ],
    ids=["replaced", "not known"],
)  # fmt: skip
def test_a_program_that_is_not_there_must_be_named(
    database: Engine, environment: dict[str, Any], programs: str, note: str
):
    planted = Planted(metrics={"time": 1.5}, environment={"build": NEW, **environment})
    (item,) = triage(database, planted)["items"]
    assert f"upgrade-check {programs} --workload" in item["command"] and item["note"] == note


def test_of_one_build_no_command_is_claimed_to_bring_the_old_state_back(database: Engine):
    planted = Planted(metrics={"time": 1.5}, environment={"kernel": "6.6.1"})
    (item,) = triage(database, planted)["items"]
    assert item["command"] is None and "the same build" in item["note"]


def test_what_may_have_changed_that_night_by_its_interval_moved_together(database: Engine):
    kept_nights(database, *recorded_nights(SLOWER))
    report = regressions_of_batch(database, "nightly")
    time, waf = report.findings
    assert (time.alarm.since, waf.alarm.since) == (16, 16)

    def moved(**dates: int) -> set[str]:
        late = replace(waf, alarm=replace(waf.alarm, **dates))
        found = triage_of(database, replace(report, findings=(time, late)), "nightly", 17)
        return {each["metric"] for each in found["moved"]}

    assert moved(since=18, since_low=16, since_high=19) == {"time", "waf"}
    assert moved(since=14, since_low=13, since_high=16) == {"time", "waf"}
    assert moved(since=18, since_low=17, since_high=19) == {"time"}
    assert moved(since=14, since_low=13, since_high=15) == {"time"}


def test_builds_are_measured_again_at_the_scale_of_the_job(database: Engine):
    results, runs = recorded_nights(SLOWER)
    kept_nights(database, [each | {"job": SCALED} for each in results], runs)
    report = regressions_of_batch(database, "nightly")
    (item,) = triage_of(database, report, "nightly")["items"]
    assert item["command"].endswith("--workload load-quick --column-family default --scale 16")


@pytest.mark.parametrize(("job", "scale"), [(ASKED, ""), (SCALED, " --scale 16")])
def test_two_proven_winners_of_one_build_are_compared(
    database: Engine, job: Mapping[str, Any], scale: str
):
    results = [
        result(dict.fromkeys(("waf", "sa", "time", "rate"), 2.0), changes={"waf": -10.0},
               fitness=300 - 200 * (night >= 16) + 10 * math.sin(7 * night), job=job)
        | {"best": {"configuration": {"block_size": 8192}}}
        for night in range(24)
    ]  # fmt: skip
    kept_nights(database, results)
    report = regressions_of_batch(database, "nightly")
    (item,) = triage_of(database, report, "nightly")["items"]
    assert item["command"] == f"rocktune compare job:16 job:17 --workload load-quick{scale}"
    taken(item["command"])


def test_deleted_jobs_leave_what_their_nights_have_kept(database: Engine):
    kept_nights(database, *recorded_nights(SLOWER))
    report = regressions_of_batch(database, "nightly")
    for number in range(1, 25):
        JobStore(database).delete_job(number)
    (item,) = triage_of(database, report, "nightly")["items"]
    assert item["counters"] == [] and item["hosts"] == {"before": [], "after": []}
    assert item["builds"]["after"]["digest"] == "cd" * 32 and item["command"]


def test_nothing_found_is_told_and_so_is_nothing_measured(database: Engine):
    found = triage(database, Planted())
    assert (found["night"], found["changes"]) == (None, [])
    assert triage_of(database, detect_regressions(()), "none")["night"] is None


nights = st.lists(
    st.dictionaries(
        st.sampled_from(
            ["flush.write.bytes", "compact.write.bytes.level1", "x", "y", "machine_speed"]
        ),
        st.floats(0, 1e12),
    ),
    max_size=5,
)


def _by_name(rows: list[dict[str, Any]]) -> Mapping[str, dict[str, Any]]:
    return {each["name"]: each for each in rows}


@given(nights, nights)
def test_sides_change_places_in_the_main_rows(before: list[Any], after: list[Any]):
    there, back = _by_name(counter_rows(before, after)), _by_name(counter_rows(after, before))
    assert there.keys() == back.keys()
    for name, row in there.items():
        assert (row["before"], row["after"]) == (back[name]["after"], back[name]["before"])
        assert row["apart"] == back[name]["apart"]
        if row["apart"]:
            assert row["before"] != row["after"]


@given(nights, nights, st.randoms())
def test_the_order_of_nights_is_of_no_matter(before: list[Any], after: list[Any], random: Any):
    expected = counter_rows(before, after)
    random.shuffle(before)
    random.shuffle(after)
    assert counter_rows(before, after) == expected


@given(st.lists(st.floats(1, 1e9), min_size=2, max_size=5), st.floats(1.5, 100))
def test_what_only_grew_stands_apart_and_says_by_how_much(values: list[float], factor: float):
    low = [{"some.counter": 1e9 + value} for value in values]
    high = [{"some.counter": factor * 4 * (1e9 + value)} for value in values]
    (row,) = counter_rows(low, high)
    assert row["apart"] and math.isclose(row["percent"], 100 * (4 * factor - 1), rel_tol=1e-6)
    assert counter_rows(low, low) == []


def test_a_level_that_compactions_reach_anew_is_told_and_one_that_was_never_counted_is_not():
    old = [{"compact.write.bytes.level1": 5.0}] * 2
    new = [{"compact.write.bytes.level1": 5.0, "compact.write.bytes.level2": 7.0}] * 2
    row = _by_name(counter_rows(old, new))["compact.write.bytes.level2"]
    assert (row["before"], row["after"], row["percent"], row["apart"]) == (0.0, 7.0, None, True)
    assert counter_rows([{"bytes.written": 1.0}] * 2, [new[0] | {"bytes.written": 1.0}] * 2) == [
        {"name": "bytes.written", "before": 1.0, "after": 1.0, "percent": 0.0, "apart": False}
    ]
