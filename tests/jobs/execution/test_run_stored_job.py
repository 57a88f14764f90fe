import csv
import io
import json
import os
import re
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.leases import LeaseHeld, acquire, release
from db.schema.job_row import JobState
from db.trials.trial_export import KEPT_NAMES, TrialNames
from jobs.execution import assembly, held_job
from jobs.execution.assembly import assemble
from jobs.execution.run_job import run_job
from jobs.report import artifacts as report_room
from jobs.report.artifacts import report_html, report_of_job, write_artifacts
from jobs.results.outcome import JobOutcome, job_outcome, kept_report
from jobs.results.pages import whole_page
from jobs.specification.resolved_job import ResolvedJob
from optimizer.run.planning import RunProgress
from optimizer.run.ports import LeaseLost
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.bench.outcome import TrialState
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from tests.support.jobs.instant import Watcher, codec_job, left_running, write_workload

pytestmark = pytest.mark.slow
ANOTHER = "elsewhere:boot:1:4711:99"
# Measures the baseline's codec alone.
FAILS = (
    'read -r given < "$1"; case "$given" in *slow*) echo \'{{"waf": 2.0}}\' ;; '
    "*) echo '{}' >&2; exit 3 ;; esac\n"
)


def remembering(recall: Callable[..., object], name: str, stored: object) -> Callable[..., object]:
    """``JobStore.recall`` of a database that an earlier version has written one document into."""
    return lambda self, job_id, asked: stored if asked == name else recall(self, job_id, asked)


class Job:
    """A stored job with an instant benchmark."""

    def __init__(
        self, engine: Engine, folder: Path, settings: Settings, *, trials: int = 12, **script: str
    ) -> None:
        self.engine, self.settings, self.folder = engine, settings, folder
        self.record = folder / "measured"
        self.record.touch()
        workload = write_workload(folder, record=self.record, **script)  # type: ignore[arg-type]
        self.specification = codec_job(folder, workload, trials=trials)
        self.assembly: ResolvedJob = assemble(self.specification, settings)
        self.store = JobStore(engine)
        document, digest = self.specification.document(), self.specification.digest()
        self.id = self.store.create_job(document, digest)
        self.watcher = Watcher()

    def run(self, **changes: object) -> JobOutcome:
        arguments = {"progress": self.watcher} | changes
        return run_job(
            self.engine, self.id, self.specification, self.assembly, self.settings, **arguments
        )  # type: ignore[arg-type]

    @property
    def measured(self) -> list[str]:
        return self.record.read_text().splitlines()


@pytest.fixture
def job(database: Engine, tmp_path: Path, settings: Settings) -> Job:
    return Job(database, tmp_path, settings)


class TestAWholeJob:
    def test_is_kept_with_its_result(self, job: Job):
        with pytest.raises(KeyError, match=f"job {job.id} has no result yet"):
            job_outcome(job.engine, job.id)
        finished = job.run()
        row = job.store.job(job.id)
        assert (row.state, row.lease_owner, row.error) == (JobState.DONE, None, None)
        assert row.environment == finished.result["environment"]
        assert job.store.result(job.id) == json.loads(json.dumps(finished.result))
        assert job.store.trials(job.id) == list(finished.trials)
        assert finished.result["trials"]["total"] == 12 == len(job.measured)
        assert [trial.number for trial in job.watcher.ended] == list(range(1, 13))
        assert job.watcher.phases == [Phase.BASELINE, Phase.SAMPLE, Phase.CONFIRM]
        assert finished.result["best"]["configuration"]["codec"] == "fast"
        assert list(job.settings.bench_dir.iterdir()) == []
        names = TrialNames.of(finished.trials)
        assert set(names.parameters) == set(finished.trials[0].configuration)
        assert job.store.recall(job.id, KEPT_NAMES) == names.document()
        assert left_running(str(job.settings.bench_dir)) == []
        # It can be had again without measuring.
        again = job_outcome(job.engine, job.id)
        assert (again.options, again.fitness) == (finished.options, dict(finished.fitness))
        assert (again.result, again.trials) == (
            json.loads(json.dumps(finished.result)),
            list(finished.trials),
        )
        assert len(job.measured) == 12
        declared = job.store.recall(job.id, "declared_test")
        proofs = [t for t in job.store.trials(job.id) if t.purpose is Purpose.PROVE]
        assert {t.subject for t in proofs} == {1, declared["winner"]}
        assert len(proofs) == 2 * declared["pairs"] == 6


@pytest.mark.one_database
class TestItsFiles:
    def test_are_all_there(self, job: Job, tmp_path: Path):
        out = tmp_path / "out"
        out.mkdir()
        finished = job.run()
        paths = write_artifacts(finished, out)
        fewer = [] if finished.minimal is None else ["OPTIONS.minimal.ini"]
        assert [path.name for path in paths] == [
            "OPTIONS.ini", *fewer, "result.json", "trials.csv", "report.html"]  # fmt: skip
        assert sorted(out.iterdir()) == sorted(paths)
        assert json.loads((out / "result.json").read_text()) == job.store.result(job.id)
        rows = list(csv.DictReader(io.StringIO((out / "trials.csv").read_text())))
        assert [int(row["number"]) for row in rows] == list(range(1, 13))
        for row, trial in zip(rows, finished.trials, strict=True):
            assert float(row["waf"]) == trial.metrics["waf"]
            assert row["codec"] == trial.configuration["codec"]
            assert float(row["fitness"]) == pytest.approx(finished.fitness[trial.number])
        page = (out / "report.html").read_text()
        # But for the library that draws the plots, which is a text within it.
        ours = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
        assert len(page) - len(ours) > 4_000_000
        links = r"(?:src|action)\s*=|href\s*=(?!\"#)|url\(|@import|<link"
        assert re.findall(links, ours) == [], "but for links within the page"
        assert "http:" not in ours
        assert "https:" not in ours
        for title in ("Baseline versus best", "Convergence", "Environment",
                      "How to use the file", "Noise and drift of the baseline"):  # fmt: skip
            assert f">{title}</h2>" in page
        assert ours.count("<table>") == ours.count("</table>") >= 4
        assert re.search(
            r"options? changed</h2>.*?>codec</th>\s*<td class=.n.>slow</td>\s*<td class=.n.>fast<",
            page,
            flags=re.DOTALL,
        )
        kept = kept_report(job.engine, job.id)
        assert kept == report_html(finished), "kept without what draws its plots"
        assert len(kept) < 200_000
        assert report_of_job(job.engine, job.store.job(job.id)) == whole_page(kept)

    def test_the_report_escapes_what_others_wrote(self, job: Job, tmp_path: Path):
        (tmp_path / "bench.sh").write_text(FAILS.format("<script>alert(1)</script>"))
        write_artifacts(job.run(), tmp_path)
        page = (tmp_path / "report.html").read_text()
        assert "<script>alert(1)" not in page
        assert "&lt;script&gt;alert(1)" in page

    def test_a_report_of_an_earlier_version_is_made_anew(
        self, job: Job, monkeypatch: pytest.MonkeyPatch
    ):
        finished = job.run()
        recall = JobStore.recall
        for stored in (None, {"html": "old"}, {"html": "old", "version": 1}):
            monkeypatch.setattr(JobStore, "recall", remembering(recall, "report", stored))
            assert kept_report(job.engine, job.id) is None
        page = report_of_job(job.engine, job.store.job(job.id))
        assert page == whole_page(report_html(finished))
        # Once: those who ask again do not wait for it.
        monkeypatch.setattr(report_room, "report_html", None)
        assert report_of_job(job.engine, job.store.job(job.id)) == page

    def test_where_nothing_is_better_an_earlier_options_file_goes(
        self, database: Engine, tmp_path: Path, settings: Settings
    ):
        job = Job(database, tmp_path, settings, wins="none")
        (tmp_path / "OPTIONS.ini").write_text("of an earlier job")
        finished = job.run()
        assert finished.result["best"] is None
        assert finished.options is None
        paths = write_artifacts(finished, tmp_path)
        assert [path.name for path in paths] == ["result.json", "trials.csv", "report.html"]
        assert not (tmp_path / "OPTIONS.ini").exists()
        assert "Nothing was proven better" in (tmp_path / "report.html").read_text()

    def test_one_that_cannot_be_made_leaves_the_earlier_one_whole(
        self, job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        finished = job.run()
        write_artifacts(finished, tmp_path)
        before = {path.name: path.read_bytes() for path in tmp_path.glob("*.*")}

        real = os.fdopen

        def full(descriptor: int, mode: str) -> None:
            with real(descriptor, mode) as file:
                file.write(b"half of ")
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fdopen", full)
        with pytest.raises(
            InputError, match="No space left on device; all that was measured is kept"
        ):
            write_artifacts(finished, tmp_path)
        monkeypatch.undo()
        assert {name: (tmp_path / name).read_bytes() for name in before} == before


class TestTheLease:
    def test_of_another_is_respected(self, job: Job):
        other = acquire(job.engine, job.id, ANOTHER)
        with pytest.raises(LeaseHeld, match="process 4711 on elsewhere"):
            job.run()
        assert job.measured == []
        assert job.store.job(job.id).state is JobState.QUEUED
        release(job.engine, other)
        assert job.run().result["trials"]["total"] == 12

    def test_is_renewed_however_short_the_trials_are(
        self, job: Job, monkeypatch: pytest.MonkeyPatch
    ):
        """Otherwise another process may take over a job of many short trials that still runs."""
        renewed = []
        monkeypatch.setattr(held_job, "_RENEW_SECONDS", 0.0)
        monkeypatch.setattr(held_job, "renew", lambda *_: renewed.append(len(job.watcher.ended)))
        job.run()
        assert len(set(renewed)) > 6

    def test_is_renewed_while_the_host_is_busy(self, job: Job, monkeypatch: pytest.MonkeyPatch):
        from sampler.bench.host_lock import host_lock

        renewed: list[float] = []
        monkeypatch.setattr(held_job, "_RENEW_SECONDS", 0.0)
        real = held_job.renew

        def renew(*arguments: object) -> None:
            real(*arguments)  # type: ignore[arg-type]
            renewed.append(1)

        monkeypatch.setattr(held_job, "renew", renew)
        told: list[str] = []
        enough = threading.Event()

        def pause(_seconds: float) -> None:
            if len(told) >= 3:
                holding.__exit__(None, None, None)
                enough.set()

        holding = host_lock(job.settings.lock, "other", pause=lambda _: None)
        holding.__enter__()
        finished = job.run(waiting=told.append, pause=pause)
        assert enough.is_set()
        assert len(renewed) >= 3
        assert "process" in told[0]
        assert finished.result["trials"]["total"] == 12

    def test_that_was_taken_over_writes_nothing_more(self, job: Job):
        store = job.store
        seen: list[list[Trial]] = []

        class Stolen(Watcher):
            def trial_ended(self, trial: Trial, standing: RunProgress) -> None:
                super().trial_ended(trial, standing)
                if trial.number == 5:
                    expire(job.engine, job.id)
                    acquire(job.engine, job.id, ANOTHER)
                    seen.append(store.trials(job.id))

        with pytest.raises(LeaseLost, match="process 4711 on elsewhere"):
            job.run(progress=Stolen())
        assert store.trials(job.id) == seen[0]
        row = store.job(job.id)
        assert row.state is JobState.RUNNING
        assert row.lease_owner == ANOTHER
        assert list(job.settings.bench_dir.iterdir()) == []

    def test_lost_while_a_trial_runs_ends_the_trial(self, job: Job, tmp_path: Path,
                                                    monkeypatch: pytest.MonkeyPatch):  # fmt: skip
        (tmp_path / "bench.sh").write_text("exec sleep 60\n")
        monkeypatch.setattr(held_job, "_RENEW_SECONDS", 0.0)
        real = held_job.renew

        def stolen(engine: Engine, lease: object) -> None:
            expire(job.engine, job.id)
            acquire(job.engine, job.id, ANOTHER)
            real(engine, lease)  # type: ignore[arg-type]

        monkeypatch.setattr(held_job, "renew", stolen)
        with pytest.raises(LeaseLost):
            job.run()
        assert left_running(str(tmp_path / "bench.sh")) == []
        assert list(job.settings.bench_dir.iterdir()) == []


def expire(engine: Engine, job_id: int) -> None:
    moment = "2000-01-01 00:00:00"
    with engine.begin() as connection:
        connection.exec_driver_sql(
            f"UPDATE job SET lease_expires_at = '{moment}' WHERE id = {job_id}"
        )


@pytest.mark.one_database
class TestWhatGoesWrong:
    def test_a_baseline_that_fails_ends_the_job_and_says_why(self, job: Job, tmp_path: Path):
        (tmp_path / "bench.sh").write_text("echo 'no such table' >&2; exit 4\n")
        with pytest.raises(InputError, match=r"baseline: .*no such table"):
            job.run()
        row = job.store.job(job.id)
        assert row.state is JobState.FAILED
        assert "no such table" in str(row.error)
        assert row.lease_owner is None

    def test_the_mended_job_goes_on(self, job: Job):
        class Breaks(Watcher):
            def trial_ended(self, trial: Trial, standing: RunProgress) -> None:
                super().trial_ended(trial, standing)
                if trial.number == 6:
                    job.settings.bench_dir.rmdir()
                    job.settings.bench_dir.write_text("in the way")

        with pytest.raises(InputError, match="ROCKTUNE_BENCH_DIR"):
            job.run(progress=Breaks())
        assert job.store.job(job.id).state is JobState.FAILED
        before = job.store.trials(job.id)
        job.settings.bench_dir.unlink()
        finished = job.run()
        assert job.store.job(job.id).state is JobState.DONE
        assert job.store.job(job.id).error is None
        assert list(finished.trials)[:6] == before[:6]
        assert finished.result["trials"]["total"] == 12 == len(job.measured)

    def test_failed_trials_are_kept_with_their_reason(
        self, database: Engine, tmp_path: Path, settings: Settings
    ):
        job = Job(database, tmp_path, settings, trials=24)
        (tmp_path / "bench.sh").write_text(FAILS.format("out of luck"))
        finished = job.run()
        failed = [trial for trial in finished.trials if trial.state is TrialState.FAILED]
        assert failed
        assert {trial.failure for trial in failed} == {"out of luck"}
        assert finished.result["trials"]["failed"] == len(failed)
        assert finished.result["best"] is None

    def test_a_metric_that_the_benchmark_does_not_give(
        self, database: Engine, tmp_path: Path, settings: Settings
    ):
        job = Job(database, tmp_path, settings)
        (tmp_path / "bench.sh").write_text("echo '{\"sa\": 2.0}'\n")
        with pytest.raises(InputError, match=r"objective \(waf\): .*'waf'.* reports sa; "):
            job.run()
        assert len(job.store.trials(job.id)) == 1

    def test_an_interruption_leaves_it_resumable(self, job: Job):
        class Interrupts(Watcher):
            def trial_started(self, trial: Trial) -> None:
                if trial.number == 5:
                    raise SystemExit

        with pytest.raises(SystemExit):
            job.run(progress=Interrupts())
        row = job.store.job(job.id)
        assert (row.state, row.lease_owner) == (JobState.RUNNING, None)
        finished = job.run()
        assert finished.result["trials"]["total"] == 12
        assert [trial.attempt for trial in finished.trials] == [1] * 4 + [2] + [1] * 7

    def test_a_file_that_rocksdb_refuses_costs_nothing_but_the_file(
        self, job: Job, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ):
        def refuse(*_: object) -> str:
            raise room_error("RocksDB 7.8.3 rejects the file: x", "[DBOptions]")

        from jobs.results.export import ExportRefusedError as room_error

        monkeypatch.setattr(assembly, "export_options", refuse)
        finished = job.run()
        assert finished.result["best"] and finished.options is None
        assert finished.result["export"] == {
            "refused": "RocksDB 7.8.3 rejects the file: x", "options": "[DBOptions]",
        }  # fmt: skip
        assert job.store.job(job.id).state is JobState.DONE
        names = {path.name for path in write_artifacts(finished, tmp_path)}
        assert {"OPTIONS.refused.ini", "result.json", "trials.csv", "report.html"} <= names
        assert "OPTIONS.ini" not in names


@pytest.mark.one_database
class TestTheSame:
    def test_interrupted_anywhere_ends_with_the_same_trials(
        self, database: Engine, tmp_path: Path, settings: Settings
    ):
        """With a benchmark that always says the same, a resumed job proposes what a whole does."""
        for name in ("whole", "pieces"):
            (tmp_path / name).mkdir()
        whole = steady(Job(database, tmp_path / "whole", settings, trials=24))
        pieces = steady(Job(database, tmp_path / "pieces", settings, trials=24))
        expected = whole.run().trials

        def interrupting(at: int) -> Watcher:
            class Interrupts(Watcher):
                def trial_ended(self, trial: Trial, standing: RunProgress) -> None:
                    super().trial_ended(trial, standing)
                    if trial.number == at:
                        raise KeyboardInterrupt

            return Interrupts()

        for at in (1, 2, 3, 7, 16, 19, 22):
            with pytest.raises(KeyboardInterrupt):
                pieces.run(progress=interrupting(at))
        found = pieces.run().trials
        assert [described(t) for t in found] == [described(t) for t in expected]
        assert len(pieces.measured) == 24


def steady(job: Job) -> Job:
    script = (job.folder / "bench.sh").read_text()
    (job.folder / "bench.sh").write_text(re.sub(r"n=\$\(\(.*\)\)", "n=50", script))
    return job


def described(trial: Trial) -> dict[str, object]:
    clocks = ("bench_seconds", "started_at", "finished_at", "host")
    return {name: value for name, value in asdict(trial).items() if name not in clocks}
