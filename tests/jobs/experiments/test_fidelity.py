"""Verdicts on a load beside its database."""

from dataclasses import replace

import pytest

from jobs.experiments import fidelity
from jobs.experiments.experiment import KeptRuns, MeasuredRun, RunsObserver
from jobs.experiments.fidelity import compaction_due, compared, figures_of, profile_result
from jobs.experiments.told import ProfileResult
from sampler.bench.outcome import Outcome, TrialState
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.profile.profile import DatabaseProfile, FamilyProfile, Level
from sampler.rocksdb.options_file import CF, OptionsFile
from sampler.workload.workload_file import load_workload

FAMILY = FamilyProfile(
    name="default",
    waf=4.0,
    levels=(Level(0, 2, 2**20, 1.0), Level(1, 8, 2**24, 3.0), Level(2, 40, 2**28, 2.0)),
    operations={"put": 900.0, "get": 100.0},
    overwrite_share=0.5,
    table_bytes=2.0**22,
    table_entries=10_000.0,
    keys_in=1000,
    keys_dropped=300,
)
WHOLE = DatabaseProfile(families=(FAMILY,), batch_size=1.0, stall_percent=2.0)


def _check(*loads: FamilyProfile, scale: int = 1) -> ProfileResult:
    """Of one load all runs of which are alike, or of a load by run."""
    runs = [figures_of(replace(WHOLE, families=(load,)), load, scale) for load in loads]
    found = compared(figures_of(WHOLE, FAMILY, 1), runs if len(runs) > 1 else runs * 2)
    return profile_result([*found])


def _wafs(*wafs: float) -> ProfileResult:
    return _check(*(replace(FAMILY, waf=waf) for waf in wafs))


def _row(check: ProfileResult, what: str):
    return next(row for row in check.rows if row.what == what)


def test_a_database_fits_itself():
    check = _check(FAMILY)
    assert check.fits
    assert {row.verdict for row in check.rows if row.database is not None} == {"fits"}
    assert "The load matches the database" in check.verdict


def test_write_amplification_fits_within_15_percent_either_way():
    for waf, fits in ((4.59, True), (3.5, True), (4.7, False), (3.3, False)):
        check = _check(replace(FAMILY, waf=waf))
        assert (check.fits, _row(check, "write amplification").verdict == "fits") == (fits, fits)
    assert "num or writes" in _row(_check(replace(FAMILY, waf=9.0)), "write amplification").advice


@pytest.mark.parametrize(
    ("wafs", "fits"),
    [
        ((3.9, 4.1, 4.0), True),
        ((5.6, 5.7), False),
        ((4.0,), None),  # one run has no interval
        ((4.3, 6.2), None),  # one would fit, the other would not
        ((4.2, 5.1, 3.6, 5.6, 4.4), None),
        ((3.645, 5.114, 3.7), None),
    ],
)
def test_runs_decide_by_the_interval_of_their_mean(wafs: tuple[float, ...], fits: bool | None):
    check = _wafs(*wafs) if len(wafs) > 1 else profile_result([*compared(
        figures_of(WHOLE, FAMILY, 1), [figures_of(WHOLE, FAMILY, 1)]
    )])  # fmt: skip
    row = _row(check, "write amplification")
    words = {True: "fits", False: "differs", None: "cannot tell"}
    assert (check.fits, row.verdict, row.runs) == (fits, words[fits], len(wafs))
    if len(wafs) > 1:
        assert row.low < (row.load or 0) < row.high
        assert (fits is None) == ("cannot tell" in check.verdict)
        if fits is None:
            assert f"after {len(wafs)} runs write amplification lies between" in check.verdict


@pytest.mark.parametrize(
    ("wafs", "needed", "fits"),
    [
        ([4.0, 4.02, 9.9], 2, True),
        ([3.9, 4.3, 4.0, 4.1, 4.0], 4, True),
        ([6.0, 6.1, 4.0], 2, False),
        ([3.2, 4.9, 3.6, 5.6, 4.4, 4.0], 5, None),
    ],
)
def test_a_load_is_run_until_its_runs_decide_or_are_the_most(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, wafs: list[float], needed: int,
    fits: bool | None,
):  # fmt: skip
    kept, ran = [], iter(wafs)

    def measure(*_: object) -> Outcome:
        mine = figures_of(WHOLE, replace(FAMILY, waf=next(ran)), 1)
        told = {what: value for what, value in mine.items() if value is not None}
        return Outcome(state=TrialState.DONE, metrics=told, bench_seconds=1.0)

    monkeypatch.setattr(RunsObserver, "run", measure)
    load = load_workload("load-quick")
    check = fidelity.fidelity_check(WHOLE, FAMILY, load, settings, options=None)
    runs: list[MeasuredRun] = []
    document = check.measure(settings, KeptRuns(runs, kept.append), RunsObserver()).document
    assert (len(runs), document["fits"]) == (needed, fits)
    assert kept == runs and check.total == 5
    # What was measured before is gone on with: nothing is left to run.
    again = check.measure(settings, KeptRuns([*runs], kept.append), RunsObserver()).document
    assert again == document and len(kept) == needed


def test_a_run_that_fails_ends_the_check_and_is_made_again(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
):
    mine = {what: value for what, value in figures_of(WHOLE, FAMILY, 1).items() if value}
    done = Outcome(state=TrialState.DONE, metrics=mine, bench_seconds=1.0)
    failed = Outcome(state=TrialState.FAILED, failure="no space left", bench_seconds=1.0)
    ran = iter([done, failed, done])
    monkeypatch.setattr(RunsObserver, "run", lambda *_: next(ran))
    load = load_workload("load-quick")
    check = fidelity.fidelity_check(WHOLE, FAMILY, load, settings, options=None)
    runs: list[MeasuredRun] = []
    with pytest.raises(InputError, match="the load failed: no space left"):
        check.measure(settings, KeptRuns(runs, lambda _: None), RunsObserver())
    assert [run.state for run in runs] == ["done", "failed"]
    document = check.measure(settings, KeptRuns(runs, lambda _: None), RunsObserver()).document
    assert document["fits"] and [(run.round, run.state) for run in runs] == [
        (1, "done"), (2, "done"),
    ]  # fmt: skip


def test_the_tree_fits_within_one_level():
    deeper = (*FAMILY.levels[:2], Level(4, 40, 2**28, 2.0))
    check = _check(replace(FAMILY, levels=deeper))
    assert not check.fits
    assert _row(check, "deepest level used").verdict == "differs"
    next_level = (*FAMILY.levels[:2], Level(3, 40, 2**28, 2.0))
    assert _check(replace(FAMILY, levels=next_level)).fits


def test_a_level_of_next_to_nothing_is_not_used():
    more = (*FAMILY.levels, Level(6, 1, 4096))
    assert _row(_check(replace(FAMILY, levels=more)), "deepest level used").load == 2.0


def test_tables_are_compared_at_the_database_s_size():
    small = replace(FAMILY, table_bytes=2.0**16)
    row = _row(_check(small, scale=64), "bytes per table")
    assert (row.load, row.verdict) == (2.0**22, "fits")


def test_what_is_not_told_is_asked_for_and_not_invented():
    check = _check(replace(FAMILY, hit_rate=0.5))
    row = _row(check, "share of gets that find a key")
    assert (row.database, row.verdict) == (None, "unknown")
    assert "not available from" in row.advice
    nothing = FamilyProfile(name="default")
    rows = compared(figures_of(WHOLE, nothing, 1), [figures_of(WHOLE, FAMILY, 1)] * 2)
    assert "Not checked" in profile_result([*rows]).verdict


def test_a_difference_beside_the_deciding_ones_is_named_and_does_not_decide():
    check = _check(replace(FAMILY, overwrite_share=0.9))
    assert check.fits
    assert "share of puts that overwrite" in check.verdict


@pytest.mark.parametrize(
    ("trigger", "due"),
    [("2", True), ("3", False), ("0", True), ("-1", False), ("x", False), (None, False)],
)
def test_a_compaction_is_due_by_the_files_of_level_0(trigger: str | None, due: bool):
    """Of two files; RocksDB takes 0 as 1, its own trigger is 4, and a negative one is off."""
    given = {} if trigger is None else {"level0_file_num_compaction_trigger": trigger}
    assert compaction_due(FAMILY, OptionsFile(sections={CF: given})) is due
