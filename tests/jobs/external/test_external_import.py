"""Trials that were recorded before, told to a job of the user's own runner."""

import gzip
import json
from typing import Any

import pytest
from sqlalchemy import Engine, event

from db.jobs.job_store import JobStore
from db.schema.job_row import JobState
from jobs.external import ExternalJobs, ReportedTrial, live_ranking
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.bench.outcome import TrialState
from sampler.common.errors import InputError
from tests.support import DATA
from tests.support.jobs.elsewhere import measured, run_to_the_end, statements, submit_external

RECORDED = DATA / "recorded_trials_load.jsonl.gz"
PRIORITIES = ("kByCompensatedSize", "kOldestLargestSeqFirst", "kOldestSmallestSeqFirst",
              "kMinOverlappingRatio", "kRoundRobin")  # fmt: skip
STYLES = ("level", "universal")


def recorded(space: str) -> list[ReportedTrial]:
    """The recorded trials as their owner would tell them; those that the space cannot hold not."""
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        trials = list(map(json.loads, lines))
    left_out = {"default": (), "paper": ("wal_bytes_per_sync", "compaction_readahead_size")}
    told = []
    for trial in trials:
        values: dict[str, Any] = {
            name: value for name, value in trial["config"].items() if name not in left_out[space]
        }
        values["compaction_pri"] = PRIORITIES[int(values["compaction_pri"])]
        values["compaction_style"] = STYLES[int(values["compaction_style"])]
        values["bloom_bits"] = max(values["bloom_bits"], 0)
        found, load = trial["result"], trial["result"]["ops"]["fillrandom"]
        metrics = {
            "waf": (found["bytes_flush"] + found["bytes_compact"]) / found["bytes_user"],
            "sa": found["sst_bytes"] / found["bytes_user"],
            "time": load["seconds"],
            "rate": float(load["ops_per_sec"]),
        }
        baseline = trial["default"]
        if space == "paper" or values["compression_type"] != "bzip2":
            told.append(
                ReportedTrial(baseline=baseline, configuration=None if baseline else values,
                     metrics=metrics, host="of 2022", bench_seconds=load["seconds"])
            )  # fmt: skip
    return told


@pytest.fixture
def jobs(database: Engine) -> ExternalJobs:
    return ExternalJobs(database)


@pytest.fixture
def store(database: Engine) -> JobStore:
    return JobStore(database)


class TestRecordedTrials:
    @pytest.mark.slow
    @pytest.mark.parametrize("space", ["default", "paper"])
    @pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
    def test_are_kept_as_they_were_told(
        self, jobs: ExternalJobs, store: JobStore, database: Engine, space: str
    ):
        job_id = submit_external(database, space=space, objective="paper", trials=24)
        told = recorded(space)
        assert len(told) > 580
        kept = jobs.tell(job_id, told)
        assert store.trials(job_id) == kept
        assert [t.number for t in kept] == list(range(1, len(told) + 1))
        assert {(t.given, t.started_at, t.host) for t in kept} == {(True, None, "of 2022")}
        drawn = [t for t in kept if t.purpose is Purpose.CANDIDATE]
        assert {t.phase for t in drawn} == {Phase.SAMPLE}
        assert len(kept) - len(drawn) == 27

    @pytest.mark.slow
    @pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
    def test_teach_what_matters(self, jobs: ExternalJobs, store: JobStore, database: Engine):
        job_id = submit_external(database, space="paper", objective="paper", trials=24)
        jobs.tell(job_id, recorded("paper")[:260])
        order = [p.name for p in live_ranking(database, store.job(job_id)).parameters]
        # Where draws have it vary, which levels are compressed makes more of SA and TIME.
        assert order[0] == "min_level_to_compress", order[:6]
        assert {"write_buffer_size", "compression_type"} <= set(order[:6])

    @pytest.mark.slow
    def test_told_again_are_the_same(self, jobs: ExternalJobs, store: JobStore, database: Engine):
        job_id = submit_external(database, objective="paper", trials=12)
        told = recorded("default")[:40]
        half = jobs.tell(job_id, told[:20])
        whole = jobs.tell(job_id, told)
        assert whole[:20] == half
        assert ExternalJobs(database).tell(job_id, [*told, *told[:3]])[:40] == whole
        assert len(store.trials(job_id)) == 43  # three more runs of the same
        handed = run_to_the_end(jobs, job_id, count=5, told=told_all)
        assert [t.number for t in handed] == list(range(44, 56))
        result = store.result(job_id)
        assert result is not None and result["trials"]["total"] == 55

    @pytest.mark.slow
    def test_do_not_stop_a_job_that_runs(
        self, jobs: ExternalJobs, store: JobStore, database: Engine
    ):
        job_id = submit_external(database, trials=12)
        (trial, *_) = jobs.ask(job_id, 2).trials
        jobs.tell(job_id, [measured(trial), *some(20)])
        jobs.tell(job_id, [measured(store.trials(job_id)[1]), *some(5, first=50)])
        run_to_the_end(jobs, job_id)
        assert store.job(job_id).state is JobState.DONE
        assert sum(not t.given for t in store.trials(job_id)) == 12


def told_all(trial: Trial) -> ReportedTrial:
    metrics = {"waf": 2.0, "sa": 1.0, "time": 9.0, "rate": 1e5}
    return ReportedTrial(number=trial.number, metrics=metrics)


def some(count: int, first: int = 0) -> list[ReportedTrial]:
    return [
        ReportedTrial(
            configuration={"bytes_per_sync": 65536 + index}, metrics={"waf": 9.0 + index}
        )
        for index in range(first, first + count)
    ]


BASELINE = ReportedTrial(baseline=True, metrics={"waf": 5.0})


class TestWhatMayBeGiven:
    def test_first_of_all_a_run_of_the_baseline(
        self, jobs: ExternalJobs, store: JobStore, database: Engine
    ):
        job_id = submit_external(database)
        with pytest.raises(InputError, match=r"trials\[0\]\.baseline: trial 1 is the reference"):
            jobs.tell(job_id, [*some(1), BASELINE])
        assert store.trials(job_id) == []
        (trial,) = jobs.tell(job_id, [BASELINE])
        assert (trial.number, trial.phase, trial.subject) == (1, Phase.BASELINE, 1)

    def test_the_baselines_own_values_are_the_baseline(self, jobs: ExternalJobs, database: Engine):
        job_id = submit_external(database)
        told = ReportedTrial(configuration={"num_levels": 7}, metrics={"waf": 5.0})
        (trial,) = jobs.tell(job_id, [told])
        assert trial.is_baseline

    def test_values_of_what_the_space_leaves_alone_only_as_they_are(
        self, jobs: ExternalJobs, database: Engine
    ):
        job_id = submit_external(database, space="universal")
        jobs.tell(job_id, [BASELINE])

        def give(**values: object) -> Trial:
            told = ReportedTrial(configuration={"write_buffer_size": "32MiB", **values},
                        metrics={"waf": 4.0})  # fmt: skip
            (trial,) = jobs.tell(job_id, [told])
            return trial

        trial = give()
        assert trial.configuration["compaction_style"] == "universal"
        assert give(compaction_style="kCompactionStyleUniversal") == trial
        with pytest.raises(InputError, match=r"compaction_style: .* the space at 'universal'"):
            give(compaction_style="level")
        (asked, *_) = jobs.ask(job_id, 5).trials
        assert asked.is_baseline

    def test_more_memory_than_the_budget_teaches_only(
        self, jobs: ExternalJobs, store: JobStore, database: Engine
    ):
        job_id = submit_external(database, memory=2**28)
        greedy = ReportedTrial(configuration={"write_buffer_size": "512MiB"}, metrics={"waf": 0.1})
        modest = ReportedTrial(configuration={"max_background_jobs": 9}, metrics={"waf": 0.2})
        kept = jobs.tell(job_id, [BASELINE, greedy, modest])
        run_to_the_end(jobs, job_id)
        proof = [t for t in store.trials(job_id) if t.purpose is Purpose.PROVE]
        assert {t.subject for t in proof} == {1, kept[2].number}


class TestAllOrNothing:
    """Whatever ends a process while it keeps what was told, no half of it is there."""

    def test_and_it_can_be_told_again(self, jobs: ExternalJobs, store: JobStore, database: Engine):
        job_id = submit_external(database)
        (trial, _) = jobs.ask(job_id, 2).trials
        told = [*some(3), BASELINE, measured(trial)]
        before, standing = store.trials(job_id), store.job(job_id).standing

        def die(*arguments: Any) -> None:
            if arguments[2].startswith("UPDATE trial"):
                raise KeyboardInterrupt

        event.listen(database, "before_cursor_execute", die)
        with pytest.raises(KeyboardInterrupt):
            jobs.tell(job_id, told)
        event.remove(database, "before_cursor_execute", die)
        assert (store.trials(job_id), store.job(job_id).standing) == (before, standing)
        assert store.job(job_id).lease_owner is None
        kept = jobs.tell(job_id, told)
        assert [t.number for t in kept] == [3, 4, 5, 6, 1]
        assert not any(t.given for t in store.trials(job_id) if t.state is TrialState.RUNNING)

    def test_a_given_trial_is_never_seen_running(self, jobs: ExternalJobs, database: Engine):
        job_id = submit_external(database)
        with statements(database) as seen:
            jobs.tell(job_id, [BASELINE, *some(10)])
        writes = [sql for sql in seen if " trial " in sql and not sql.startswith("SELECT")]
        assert [sql.split()[:3] for sql in writes] == [["INSERT", "INTO", "trial"]]


class TestCost:
    @pytest.mark.slow
    def test_of_telling_does_not_grow_with_the_job(self, jobs: ExternalJobs, database: Engine):
        def told_one(given: int) -> list[str]:
            job_id = submit_external(database)
            jobs.tell(job_id, [BASELINE, *some(given)])
            (trial,) = jobs.ask(job_id, 1).trials
            with statements(database) as seen:
                jobs.tell(job_id, [measured(trial)])
            return [sql for sql in seen if not sql.startswith(("BEGIN", "PRAGMA"))]

        few, many = told_one(3), told_one(2000)
        assert few == many
        assert len(many) <= 8
        assert not any("FROM trial" in sql for sql in many)
