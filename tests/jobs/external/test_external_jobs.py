"""Jobs of a user's own runner, asked and told from several processes."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

import pytest
from sqlalchemy import Engine, event

from db.connection.engine import make_engine
from db.jobs.job_store import JobStore
from db.leases import acquire, release
from db.schema.job_row import JobState
from jobs import external
from jobs.external import ExternalJobs, ReportedTrial, live_ranking
from jobs.queue.lifecycle import NotAsked, WrongState, cancel_stored, resume_stored
from jobs.results.outcome import options_of
from optimizer.objective.objective import Limit, limit_words
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.bench.outcome import TrialState
from sampler.common.errors import InputError
from sampler.rocksdb.options_file import parse_options
from tests.support.jobs.elsewhere import measured, run_to_the_end, statements, submit_external


@pytest.fixture
def jobs(database: Engine) -> ExternalJobs:
    return ExternalJobs(database)


@pytest.fixture
def store(database: Engine) -> JobStore:
    return JobStore(database)


@pytest.fixture
def other(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """The same database in the hands of another process, as far as the engine can tell.

    Its turn may come late on a busy machine, and it comes.
    """
    monkeypatch.setattr(external, "_BUSY_SECONDS", 300.0)
    engine = make_engine(database_url)
    yield engine
    engine.dispose()


class TestAWholeJob:
    @pytest.mark.slow
    def test_ends_with_a_result_and_an_options_file(
        self, jobs: ExternalJobs, store: JobStore, database: Engine
    ):
        job_id = submit_external(database, trials=24)
        handed = run_to_the_end(jobs, job_id)
        assert sorted(t.number for t in handed) == list(range(1, 25))
        row, result = store.job(job_id), store.result(job_id)
        assert (row.state, row.phase, row.lease_owner) == (JobState.DONE, Phase.CONFIRM, None)
        assert result is not None
        assert result["trials"]["total"] == result["trials"]["done"] == 24
        assert result["verdict"]["confirmed"]
        best = result["best"]["configuration"]
        text = options_of(database, job_id)
        assert text is not None and "RocksDB has not loaded this file" in text
        written = parse_options(text, name="x").sections['CFOptions "default"']
        trigger = str(best["level0_file_num_compaction_trigger"])
        assert written["level0_file_num_compaction_trigger"] == trigger
        declared = store.recall(job_id, "declared_test")
        assert declared is not None and declared["winner"] == result["best"]["trial"]
        assert row.standing is not None
        assert (row.standing["done"], row.standing["total"]) == (24, 24)

    @pytest.mark.slow
    def test_learns_before_it_searches(
        self, jobs: ExternalJobs, store: JobStore, database: Engine
    ):
        job_id = submit_external(database, trials=24, strategy="genetic")
        run_to_the_end(jobs, job_id, count=7)
        ranking = store.recall(job_id, "ranking")
        assert ranking is not None and len(ranking["parameters"]) == 30
        found = Counter(t.phase for t in store.trials(job_id))
        assert found[Phase.SEARCH] > 0 and found.total() == 24

    def test_of_which_every_candidate_fails_has_no_best(
        self, jobs: ExternalJobs, store: JobStore, database: Engine
    ):
        job_id = submit_external(database, strategy="genetic")

        def failing(trial: Trial) -> ReportedTrial:
            failed = ReportedTrial(number=trial.number, state=TrialState.FAILED, failure="no")
            return measured(trial) if trial.purpose is Purpose.BASELINE else failed

        run_to_the_end(jobs, job_id, told=failing)
        result = store.result(job_id)
        assert result is not None and result["best"] is None
        assert store.job(job_id).state is JobState.DONE
        assert options_of(database, job_id) is None

    def test_of_a_baseline_that_fails_has_failed(
        self, jobs: ExternalJobs, store: JobStore, database: Engine
    ):
        job_id = submit_external(database)
        for trial in jobs.ask(job_id, 5).trials:
            jobs.tell(
                job_id,
                [ReportedTrial(number=trial.number, state=TrialState.FAILED, failure="bad")],
            )
        with pytest.raises(InputError, match=r"baseline: .*bad"):
            jobs.ask(job_id, 5)
        row = store.job(job_id)
        assert (row.state, row.lease_owner) == (JobState.FAILED, None)
        assert row.error is not None and "bad" in row.error
        with pytest.raises(NotAsked, match="is failed"):
            jobs.ask(job_id, 5)


class TestSeveralProcesses:
    @pytest.mark.slow
    def test_in_turn_see_what_the_others_did(
        self, jobs: ExternalJobs, store: JobStore, database: Engine, other: Engine
    ):
        job_id = submit_external(database)
        turns, out, handed = cycle([jobs, ExternalJobs(other)]), [], []
        for _ in range(100):
            asked = next(turns).ask(job_id, 3)
            out += asked.trials
            handed += [trial.number for trial in asked.trials]
            if asked.complete:
                break
            while out:
                (kept,) = next(turns).tell(job_id, [measured(out.pop())])
                assert kept.done
        assert sorted(handed) == list(range(1, 13))
        assert store.job(job_id).state is JobState.DONE

    @pytest.mark.slow
    def test_at_once_lose_nothing_and_measure_nothing_twice(
        self, jobs: ExternalJobs, store: JobStore, database: Engine, other: Engine
    ):
        job_id = submit_external(database, trials=20)
        runners = [jobs, jobs, ExternalJobs(other), ExternalJobs(other)]
        with ThreadPoolExecutor(len(runners)) as threads:
            parts = threads.map(lambda each: run_to_the_end(each, job_id, count=2), runners)
            handed = [trial.number for part in parts for trial in part]
        assert sorted(handed) == list(range(1, 21))
        kept = store.trials(job_id)
        assert [t.number for t in kept if t.done and t.attempt == 1] == list(range(1, 21))
        assert all(t.metrics == measured(t).metrics for t in kept)
        assert store.job(job_id).state is JobState.DONE

    def test_read_the_trials_only_after_another_has_changed_them(
        self, jobs: ExternalJobs, database: Engine, other: Engine
    ):
        job_id = submit_external(database)
        (first, second) = jobs.ask(job_id, 2).trials

        def reads(change: ReportedTrial) -> int:
            with statements(database) as seen:
                jobs.tell(job_id, [change])
            return sum("FROM trial" in sql for sql in seen)

        assert reads(measured(first)) == 0
        ExternalJobs(other).ask(job_id, 1)
        assert reads(measured(second)) == 1
        assert reads(measured(second)) == 0
        with pytest.raises(InputError):
            reads(ReportedTrial(number=99, metrics={"waf": 1.0}))
        assert reads(measured(second)) == 0  # what is refused has changed nothing

    def test_notice_that_the_job_ended_while_they_waited_for_it(
        self, database: Engine, other: Engine
    ):
        job_id = submit_external(database)
        lease = acquire(database, job_id, "elsewhere:boot:1:4711:99")
        tried = threading.Event()

        def note(*arguments: object) -> None:
            if "lease_epoch" in str(arguments[2]):
                tried.set()

        event.listen(other, "after_cursor_execute", note)
        with ThreadPoolExecutor(1) as thread:
            asking = thread.submit(ExternalJobs(other).ask, job_id, 1)
            assert tried.wait(120)
            cancel_stored(database, job_id)
            release(database, lease)
            with pytest.raises(NotAsked, match="is cancelled"):
                asking.result(120)
        assert JobStore(database).trials(job_id) == []


class TestTelling:
    def test_the_same_twice_changes_nothing_and_something_else_is_refused(
        self, jobs: ExternalJobs, store: JobStore, database: Engine
    ):
        job_id = submit_external(database)
        (trial, _) = jobs.ask(job_id, 2).trials
        (kept,) = jobs.tell(job_id, [measured(trial)])
        before = (store.trials(job_id), store.job(job_id))
        assert jobs.tell(job_id, [measured(trial), measured(trial)]) == [kept, kept]
        with pytest.raises(InputError, match=r"trials\[0\]\.number: trial 1 is already done"):
            jobs.tell(job_id, [ReportedTrial(number=1, metrics={"waf": 9.0})])
        after = store.job(job_id)
        assert (store.trials(job_id), after.standing, after.updated_at) == (
            before[0], before[1].standing, before[1].updated_at)  # fmt: skip

    def test_one_trial_two_ways_at_once_is_refused(
        self, jobs: ExternalJobs, store: JobStore, database: Engine
    ):
        job_id = submit_external(database)
        jobs.ask(job_id, 1)
        two = [
            ReportedTrial(number=1, metrics={"waf": 9.0}),
            ReportedTrial(number=1, metrics={"waf": 8.0}),
        ]
        with pytest.raises(InputError, match=r"trials\[1\]\.number: trial 1 is already done"):
            jobs.tell(job_id, two)
        assert [t.state for t in store.trials(job_id)] == [TrialState.RUNNING]
        (one, same) = jobs.tell(job_id, [two[0], two[0]])
        assert one == same == store.trials(job_id)[0]

    def test_a_batch_with_wrong_ones_keeps_none_and_names_them_all(
        self, jobs: ExternalJobs, store: JobStore, database: Engine
    ):
        job_id = submit_external(database)
        (trial, _) = jobs.ask(job_id, 2).trials
        before = store.trials(job_id)
        wrong = [
            measured(trial),
            ReportedTrial(number=7, metrics={"waf": 1.0}),
            ReportedTrial(number=2),
            ReportedTrial(number=2, attempt=2, metrics={"waf": 1.0}),
            ReportedTrial(number=2, metrics={"waf": float("inf")}),
            ReportedTrial(number=2, state=TrialState.CENSORED),
            ReportedTrial(number=2, state=TrialState.FAILED, metrics={"waf": 1.0}),
            ReportedTrial(number=2, baseline=True, metrics={"waf": 1.0}),
            ReportedTrial(metrics={"waf": 1.0}),
            ReportedTrial(baseline=True, state=TrialState.LOST),
            ReportedTrial(baseline=True, attempt=1, metrics={"waf": 1.0}),
            ReportedTrial(configuration={"no_such": 1, "num_levels": "x"}, metrics={"waf": 1.0}),
        ]
        with pytest.raises(InputError) as refused:
            jobs.tell(job_id, wrong)
        fields = [error.field for error in refused.value.errors]  # type: ignore[attr-defined]
        assert fields == [
            "trials[1].number", "trials[2].metrics.waf", "trials[3].attempt",
            "trials[4].metrics.waf", "trials[5].state", "trials[6].metrics",
            "trials[7].configuration", "trials[8].configuration", "trials[9].state",
            "trials[10].attempt", "trials[11].configuration.no_such",
            "trials[11].configuration.num_levels",
        ]  # fmt: skip
        assert store.trials(job_id) == before

    def test_an_attempt_that_is_over_is_refused(
        self, jobs: ExternalJobs, store: JobStore, database: Engine
    ):
        job_id = submit_external(database)
        (trial,) = jobs.ask(job_id, 1).trials
        jobs.tell(
            job_id, [ReportedTrial(number=1, state=TrialState.LOST, failure="the host died")]
        )
        (again,) = jobs.ask(job_id, 1).trials
        assert (again.number, again.attempt) == (1, 2)
        assert store.trials(job_id) == [again]
        with pytest.raises(InputError, match=r"trials\[0\]\.attempt: 1 has expired"):
            jobs.tell(job_id, [measured(trial)])
        (kept,) = jobs.tell(job_id, [measured(again)])
        assert store.trials(job_id) == [kept]


class TestCancelled:
    def test_takes_no_more_until_it_goes_on_from_where_it_was(
        self, jobs: ExternalJobs, store: JobStore, database: Engine
    ):
        job_id = submit_external(database)
        (out, *_) = jobs.ask(job_id, 3).trials
        cancel_stored(database, job_id)
        for refused in (lambda: jobs.ask(job_id, 1), lambda: jobs.tell(job_id, [measured(out)])):
            with pytest.raises(NotAsked, match="is cancelled; it accepts no more trials"):
                refused()
        resume_stored(database, job_id)
        assert (store.job(job_id).state, store.job(job_id).run) == (JobState.RUNNING, 2)
        for trial in store.trials(job_id):
            jobs.tell(job_id, [measured(trial)])
        run_to_the_end(jobs, job_id)
        assert store.job(job_id).state is JobState.DONE
        assert len(store.trials(job_id)) == 12

    def test_what_is_not_of_a_runner_is_left_alone(self, jobs: ExternalJobs, store: JobStore):
        job_id = store.create_job({"workload": {"name": "load"}}, "d")
        with pytest.raises(NotAsked, match="measured by the service"):
            jobs.ask(job_id, 1)
        with pytest.raises(KeyError, match="there is no job 99"):
            jobs.ask(99, 1)


def test_without_a_baseline_nothing_can_be_ranked(
    jobs: ExternalJobs, store: JobStore, database: Engine
):
    job_id = submit_external(database)
    jobs.ask(job_id, 1)
    jobs.tell(job_id, [ReportedTrial(configuration={"num_levels": 5}, metrics={"waf": 1.0})])
    with pytest.raises(WrongState, match="baseline is not measured"):
        live_ranking(database, store.job(job_id))


class TestAPackageThatIsMissing:
    def test_keeps_what_was_measured_and_proposes_nothing(
        self,
        jobs: ExternalJobs,
        store: JobStore,
        database: Engine,
        monkeypatch: pytest.MonkeyPatch,
    ):
        """A job of the strategy tpe, whose package was uninstalled while its trials were out."""
        job_id = submit_external(database, trials=24)
        asked = jobs.ask(job_id, 2)
        monkeypatch.setattr("optimizer.strategies.registry.missing_extra", lambda _: "compare")
        jobs.tell(job_id, [measured(trial) for trial in asked.trials])
        assert all(trial.done for trial in store.trials(job_id))
        with pytest.raises(InputError, match="needs the extra compare; run `make compare`"):
            jobs.ask(job_id, 1)
        assert store.job(job_id).state is JobState.RUNNING

    def test_does_not_keep_a_job_from_its_proof_and_its_conclusion(
        self,
        jobs: ExternalJobs,
        store: JobStore,
        database: Engine,
        monkeypatch: pytest.MonkeyPatch,
    ):
        job_id = submit_external(database, trials=12)
        while not (asked := jobs.ask(job_id, 1)).complete:
            if asked.trials[0].phase is Phase.CONFIRM:
                monkeypatch.setattr(
                    "optimizer.strategies.registry.missing_extra", lambda _: "compare"
                )
            jobs.tell(job_id, [measured(trial) for trial in asked.trials])
        assert store.job(job_id).state is JobState.DONE
        assert store.result(job_id) is not None


@pytest.mark.slow
def test_is_planned_by_the_noise_that_was_told(database: Engine):
    job_id = submit_external(database, trials=40, detect="0.1%")
    handed = run_to_the_end(ExternalJobs(database), job_id)
    store = JobStore(database)
    declared, result = store.recall(job_id, "declared_test"), store.result(job_id)
    assert declared is not None and result is not None
    assert [t.purpose for t in handed[:6]] == [Purpose.BASELINE] * 5 + [Purpose.CANDIDATE]
    # 0.1% of noise, of which 0.1% is to be shown: some 17 pairs, where half of 40 trials is 5
    # blocks of baseline, winner and best starting point.
    assert declared["planned"]["needed"] > declared["planned"]["pairs"] == declared["pairs"] == 5
    assert result["power"]["planned"] == declared["planned"]
    proof = [t for t in handed if t.purpose is Purpose.PROVE]
    assert len(proof) == 3 * declared["pairs"]
    # The declaration is that of a job of one's own: it names the starting point beside the winner.
    assert {t.subject for t in proof} == {1, declared["winner"], declared["starting_point"]}
    assert len(handed) == 40


LIMIT = Limit("lag", at_most_baseline=1.5)


def told(trial: Trial) -> ReportedTrial:
    """All but the baseline lag behind: twice as long."""
    lag = 1.0 if trial.is_baseline else 2.0
    of_waf = measured(trial)
    return ReportedTrial(
        number=trial.number, attempt=trial.attempt, host=of_waf.host, bench_seconds=1.0,
        metrics={**of_waf.metrics, "lag": lag},
    )  # fmt: skip


@pytest.mark.one_database
@pytest.mark.slow
def test_a_winner_that_breaks_one_is_not_called_proven(database: Engine):
    job_id = submit_external(database, trials=24, limits=[limit_words(LIMIT)])
    run_to_the_end(ExternalJobs(database), job_id, told=told)
    store = JobStore(database)
    declared, result = store.recall(job_id, "declared_test"), store.result(job_id)
    assert declared is not None and result is not None
    assert declared["limits"] == ["lag <= 1.5 baseline"]
    (row,) = result["verdict"]["limits"]
    assert (row["at_most"], row["value"], row["kept"], row["runs_kept"]) == (1.5, 2.0, False, 0)
    assert result["verdict"]["p"] < 0.025
    assert result["best"] is None
