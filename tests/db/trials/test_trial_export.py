import json
import logging
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

import db.trials.trial_export
from db.connection.engine import make_engine
from db.jobs.job_store import JobStore
from db.leases import acquire, this_process_name
from db.schema.job_row import JobState
from db.schema.tables import MAIN_METRICS
from db.trials.trial_export import COLUMNS, KEPT_NAMES, Page, TrialNames, exporting
from db.trials.trial_log import StoredTrialLog
from optimizer.trials.trial import Trial
from tests.support.db.any_trials import add_trials, any_trials, job_of, plain_trial


@pytest.fixture(autouse=True)
def pages_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(db.trials.trial_export, "PAGE", 3)


def numbers(pages: Iterator[Page]) -> list[list[int]]:
    return [list(page["number"]) for page in pages]


def in_rows(page: Page) -> list[dict[str, Any]]:
    return [dict(zip(page, row, strict=True)) for row in zip(*page.values(), strict=True)]


def names_of(trials: list[Trial]) -> TrialNames:
    metrics = dict.fromkeys(chain.from_iterable(trial.metrics for trial in trials))
    main = [name for name in MAIN_METRICS if name in metrics]
    parameters = dict.fromkeys(chain.from_iterable(trial.configuration for trial in trials))
    others = [name for name in metrics if name not in main]
    return TrialNames((*main, *others), tuple(parameters))


class TestPages:
    @pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 6, 7])
    def test_every_trial_once_in_order(self, database: Engine, count: int):
        job_id = job_of(database, map(plain_trial, reversed(range(1, count + 1))))
        with exporting(database, job_id) as export:
            found = numbers(export.pages())
        assert list(chain.from_iterable(found)) == list(range(1, count + 1))
        assert all(len(page) == 3 for page in found[:-1])
        assert [] not in found

    @pytest.mark.parametrize("after", [0, 1, 3, 7, 8])
    @pytest.mark.parametrize("limit", [None, 0, 1, 3, 4, 100])
    def test_a_part(self, database: Engine, after: int, limit: int | None):
        job_id = job_of(database, map(plain_trial, range(1, 9)))
        with exporting(database, job_id) as export:
            found = list(chain.from_iterable(numbers(export.pages(after=after, limit=limit))))
        assert found == list(range(1, 9))[after:][:limit]

    def test_gaps_in_the_numbers_and_other_jobs_do_not_matter(self, database: Engine):
        job_id = job_of(database, map(plain_trial, (2, 9, 10, 40, 41)))
        job_of(database, map(plain_trial, range(1, 50)))
        with exporting(database, job_id) as export:
            assert numbers(export.pages()) == [[2, 9, 10], [40, 41]]

    def test_a_job_that_is_not_there_has_none(self, database: Engine):
        with exporting(database, 17) as export:
            assert export.names() == TrialNames((), ())
            assert list(export.pages()) == []

    @pytest.mark.slow
    @settings(
        deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(any_trials)
    def test_any_trial_is_read_as_the_store_has_it(self, database: Engine, given: list[Trial]):
        job_id = job_of(database, given)
        stored = JobStore(database).trials(job_id)
        with exporting(database, job_id) as export:
            names = export.names()
            rows = list(chain.from_iterable(map(in_rows, export.pages())))
        assert names == names_of(stored)
        assert len(rows) == len(stored)
        for row, trial in zip(rows, stored, strict=True):
            assert tuple(row) == COLUMNS
            for name in ("started_at", "finished_at"):
                moment = row.pop(name)
                assert moment is None or moment[10] == "T"
                assert (moment and datetime.fromisoformat(moment)) == getattr(trial, name)
            main = {name: row.pop(name) for name in MAIN_METRICS}
            metrics = {name: value for name, value in main.items() if value is not None}
            assert metrics | json.loads(row.pop("other_metrics")) == trial.metrics
            assert tuple(json.loads(row.pop("warnings"))) == trial.warnings
            effective = row.pop("effective")
            assert (None if effective is None else json.loads(effective)) == trial.effective
            assert json.loads(row.pop("configuration")) == trial.configuration
            for name, value in row.items():
                assert (type(value), value) == (type(value), getattr(trial, name)), name


class TestNames:
    def test_one_that_occurs_once_is_there(self, database: Engine):
        odd = replace(plain_trial(8), configuration={"odd": 1}, metrics={"sa": 1.0, "odd": 2.0})
        job_id = job_of(database, [*map(plain_trial, range(1, 8)), odd, plain_trial(9)])
        with exporting(database, job_id) as export:
            found = export.names()
        assert found.metrics == ("waf", "sa", "p99", "odd")
        assert found.parameters == ("size", "ratio", "flag", "odd")

    def test_that_none_has_is_not(self, database: Engine):
        job_of(database, [plain_trial(1)])
        bare = replace(plain_trial(1), metrics={}, configuration={}, effective={"size": 1})
        with exporting(database, job_of(database, [bare])) as export:
            assert export.names() == TrialNames((), ())

    def test_are_those_of_the_moment_of_the_first_statement(self, database: Engine):
        job_id = job_of(database, map(plain_trial, range(1, 5)))
        with exporting(database, job_id) as export:
            names = export.names()
            add_trials(database, job_id, [replace(plain_trial(5), metrics={"new": 1.0})])
            assert numbers(export.pages()) == [[1, 2, 3], [4]]
        assert "new" not in names.metrics
        with exporting(database, job_id) as export:
            assert "new" in export.names().metrics

    def test_of_a_job_that_is_done_are_kept_with_it(self, database: Engine):
        job_id = job_of(database, map(plain_trial, range(1, 5)))
        kept = TrialNames(("sa", "kept"), ("size",))
        store = JobStore(database)
        lease = acquire(database, job_id, this_process_name())
        StoredTrialLog(database, lease).remember(KEPT_NAMES, kept.document())
        for state, known in [(JobState.RUNNING, False), (JobState.DONE, True),
                             (JobState.QUEUED, False)]:  # fmt: skip
            store.set_state(job_id, state)
            with exporting(database, job_id) as export:
                assert (export.names() == kept) == known
                assert numbers(export.pages()) == [[1, 2, 3], [4]]

    @pytest.mark.slow
    @given(any_trials)
    def test_to_keep_are_those_that_reading_all_would_find(self, given: list[Trial]):
        in_order = sorted(given, key=lambda trial: trial.number)
        assert TrialNames.of(in_order) == names_of(in_order)


class TestItsConnection:
    @pytest.mark.parametrize("taken", [0, 1, 2])
    def test_is_given_back_when_the_reader_stops_early(self, database: Engine, taken: int):
        job_id = job_of(database, map(plain_trial, range(1, 9)))

        def pages() -> Iterator[Page]:
            with exporting(database, job_id) as export:
                yield from export.pages()

        reading = pages()
        for _ in range(taken):
            next(reading)
        assert database.pool.checkedout() == (taken > 0)
        reading.close()
        assert database.pool.checkedout() == 0
        assert len(JobStore(database).trials(job_id)) == 8

    def test_is_given_back_when_the_reader_fails(self, database: Engine):
        job_id = job_of(database, map(plain_trial, range(1, 9)))
        with pytest.raises(ZeroDivisionError), exporting(database, job_id) as export:
            for _ in export.pages():
                1 / 0  # noqa: B018
        assert database.pool.checkedout() == 0
        with exporting(database, job_id) as export:
            assert len(numbers(export.pages())) == 3

    def test_has_its_own_isolation_only_while_it_reads(self, database: Engine):
        with database.connect() as connection:
            before = connection.get_isolation_level()
        with exporting(database, 1) as export:
            export.names()
        with database.connect() as connection:
            assert connection.get_isolation_level() == before

    def test_may_be_used_by_one_thread_after_another(self, database: Engine):
        job_id = job_of(database, map(plain_trial, range(1, 9)))
        with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
            context = exporting(database, job_id)
            export = one.submit(context.__enter__).result()
            pages = export.pages()
            first = one.submit(next, pages).result()
            second = other.submit(next, pages).result()
            other.submit(context.__exit__, None, None, None).result()
        assert [*first["number"], *second["number"]] == [1, 2, 3, 4, 5, 6]
        assert database.pool.checkedout() == 0

    def test_of_a_reader_that_stands_still_is_cut_off(
        self, database: Engine, caplog: pytest.LogCaptureFixture
    ):
        if database.dialect.name != "postgresql":
            pytest.skip("SQLite has no server that could")
        job_id = job_of(database, map(plain_trial, range(1, 9)))
        options = {"options": "-c idle_in_transaction_session_timeout=200"}
        engine = make_engine(
            database.url.update_query_dict(options)
            .set(drivername="postgresql")
            .render_as_string(hide_password=False)
        )
        try:
            with (
                pytest.raises(DBAPIError) as cut_off,
                exporting(engine, job_id) as export,
            ):
                for _ in export.pages():
                    time.sleep(0.5)
            assert cut_off.value.connection_invalidated
            assert engine.pool.checkedout() == 0
            assert [r for r in caplog.records if r.levelno >= logging.ERROR] == []
            with exporting(engine, job_id) as export:
                assert len(numbers(export.pages())) == 3
        finally:
            engine.dispose()
