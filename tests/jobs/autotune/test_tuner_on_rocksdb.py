"""The tuner on a real RocksDB, by way of rocksdict."""

import json
from pathlib import Path

import pytest

from jobs.autotune.compare import run_plot
from jobs.autotune.database import TunedDatabase
from jobs.autotune.run import (
    AutotuneRun,
    command_metrics,
    document,
    figures,
    read_randomly,
    recover,
)
from tests.support.jobs.small_wave import ASKED, asked, loaded, ran

FACTOR = ASKED.shape.factor


def test_without_compaction_all_is_left_to_recovery(tmp_path: Path) -> None:
    run = ran(tmp_path, asked("off"))
    found = figures(run)
    assert found["reached"] == pytest.approx(1.0, abs=0.02)
    assert found["off_share"] == 1.0
    assert found["write_amplification"] <= 1.05  # flushes alone
    assert found["level0_files"] > 4
    assert sum(level.files for level in run.loaded.levels) == found["level0_files"]
    assert found["recovery_bytes"] > 0.5 * found["writes"] * ASKED.value_size
    assert found["settled_write_amplification"] > 1.5
    assert found["settled_space_amplification"] < found["space_amplification"]
    assert command_metrics(run)["time"] > run.loaded.seconds
    assert run.filtered.found > 0
    assert run.rocksdb


def test_marks_that_are_never_reached_leave_compaction_on(tmp_path: Path) -> None:
    found = loaded(tmp_path / "db", asked("tuned", low=9.0, high=9.0))
    assert (found.off, found.flips) == ((), 0)


def test_marks_that_are_always_reached_switch_compaction_off(tmp_path: Path) -> None:
    run = ran(tmp_path, asked("tuned", low=1e-6, high=1e-6))
    assert run.loaded.flips == 1
    (off,) = run.loaded.off
    assert off.end == pytest.approx(run.loaded.seconds)
    told = json.loads(json.dumps(document(run), allow_nan=False))
    plot = run_plot(told)
    assert [span.begin for span in plot.shaded] == [off.begin]
    assert plot.curves[1].points[-1][0] == pytest.approx(run.loaded.seconds, abs=1e-3)


@pytest.mark.slow
def test_duty_on_a_full_disk_never_compacts_again(tmp_path: Path) -> None:
    found = loaded(tmp_path / "db", asked("duty", full=0.01))
    assert found.flips >= 1
    assert found.off[-1].end == pytest.approx(found.seconds)


def test_a_database_opened_anew_has_the_options_asked_for(tmp_path: Path) -> None:
    # The binding would take those of the last opening, triggers and all.
    run_off = asked("off")
    loaded(tmp_path / "db", run_off)
    assert recover(tmp_path / "db", run_off).written > 0


def test_reads_without_filters_look_at_no_filter(tmp_path: Path) -> None:
    with TunedDatabase(tmp_path / "db", factor=FACTOR, compacting=False) as store:
        for number in range(0, 600, 2):
            store.put(number.to_bytes(16, "big"), b"v" * 2000)
        store.flush()
    useful = {}
    for filters in (True, False):
        with TunedDatabase(tmp_path / "db", factor=FACTOR, filters=filters) as store:
            assert store.get((2).to_bytes(16, "big")) == b"v" * 2000
            for number in range(1, 600, 2):
                assert store.get(number.to_bytes(16, "big")) is None
            useful[filters] = store.tickers().get("bloom.filter.useful", 0)
    assert useful[True] > 250
    assert useful[False] == 0


def test_reads_are_drawn_from_all_keys(tmp_path: Path) -> None:
    loaded(tmp_path / "db", ASKED)
    reads = read_randomly(tmp_path / "db", ASKED, filters=True)
    assert reads.value_bytes == reads.found * ASKED.value_size
    assert 0.15 < reads.found / reads.reads < 0.55  # 1 - exp(-7/16) = 0.35 of them were written


def test_a_tree_that_does_not_recover_in_time_has_no_metrics(tmp_path: Path) -> None:
    run = ran(tmp_path, asked("off"))
    late = AutotuneRun(run.asked, run.loaded, None, None, type(run.recovery)(None, 1, 1), None)
    assert command_metrics(late) is None
    assert figures(late)["recovery_seconds"] is None
