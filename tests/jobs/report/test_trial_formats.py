import csv
import io
import json
import re
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import Engine

import db.trials.trial_export
import jobs.report.trial_export
from benchmarks.export_trials import main as export_benchmark
from db.jobs.job_store import JobStore
from db.trials.trial_export import TrialNames
from jobs.report.trial_export import (
    TrialColumns,
    csv_chunks,
    ndjson_chunks,
    parquet_chunks,
    trials_csv,
)
from optimizer.trials.trial import Trial
from tests.support.db.any_trials import add_trials, any_trials, job_of, plain_trial

pytestmark = [pytest.mark.one_database, pytest.mark.slow]

FIRST = ["number", "phase", "purpose", "state", "subject", "attempt", "given", "host",
         "started_at", "finished_at", "bench_seconds"]  # fmt: skip
MAIN = ["waf", "sa", "time", "rate", "memory"]
FORMATS = {"csv": csv_chunks, "ndjson": ndjson_chunks, "parquet": parquet_chunks}
any_jobs = partial(
    settings,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(autouse=True)
def small_pages_and_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(db.trials.trial_export, "PAGE", 3)
    monkeypatch.setattr(jobs.report.trial_export, "_GROUP", 4)


def names_of(trials: list[Trial]) -> tuple[list[str], list[str]]:
    metrics = list(dict.fromkeys(name for trial in trials for name in trial.metrics))
    parameters = list(dict.fromkeys(name for trial in trials for name in trial.configuration))
    return sorted(metrics, key=lambda n: MAIN.index(n) if n in MAIN else len(MAIN)), parameters


def table_of(trials: list[Trial]) -> list[list[Any]]:
    """The values that a table of the trials has, without the head."""
    metrics, parameters = names_of(trials)
    return [
        [
            *(getattr(trial, name) for name in FIRST),
            *(trial.metrics.get(name) for name in metrics),
            *(trial.features.get(name) for name in parameters),
            trial.failure,
            trial.why,
        ]
        for trial in trials
    ]


def read_csv(engine: Engine, job_id: int, **part: Any) -> list[list[str]]:
    text = b"".join(csv_chunks(engine, job_id, **part)).decode()
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def read_parquet(engine: Engine, job_id: int, **part: Any) -> pa.Table:
    return pq.read_table(io.BytesIO(b"".join(parquet_chunks(engine, job_id, **part))))


def without_apostrophe(cell: str) -> str:
    return re.sub(r"^'(?='*[=+\-@\t\r\n])", "", cell)


def is_cell(cell: str, value: Any) -> bool:
    """Whether a cell of a CSV file says just this."""
    match value:
        case None:
            return cell == ""
        case bool():
            return cell == str(value).lower()
        case int():
            return cell == str(value)
        case float():
            return repr(float(cell)) == repr(value) and not re.fullmatch(r"-?\d+", cell)
        case datetime():
            return datetime.fromisoformat(cell) == value
        case _:
            return without_apostrophe(cell) == value


def require_the_same_of_memory(kept: list[list[str]], trials: list[Trial]) -> None:
    """The file in a job's folder has the fitness beside what is exported."""
    text = trials_csv(trials, {1: 2.5}).decode()
    head, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    place = len(FIRST)
    assert head[: place + 1] == [*FIRST, "fitness"]
    assert [row[:place] + row[place + 1 :] for row in rows] == kept[1:]
    assert [row[place] for row in rows] == ["2.5" if t.number == 1 else "" for t in trials]


@any_jobs(max_examples=50)
@given(any_trials)
def test_every_format_reads_back_as_the_trials(database: Engine, given: list[Trial]):
    job_id = job_of(database, given)
    stored = JobStore(database).trials(job_id)
    require_csv(database, job_id, stored)
    require_the_same_of_memory(read_csv(database, job_id), stored)
    require_ndjson(database, job_id, stored)
    require_parquet(database, job_id, stored)


def require_csv(database: Engine, job_id: int, stored: list[Trial]) -> None:
    head, *rows = read_csv(database, job_id)
    metrics, parameters = names_of(stored)
    assert len(set(head)) == len(head)
    named = zip(head, [*FIRST, *metrics, *parameters, "failure", "why"], strict=True)
    for cell, name in named:
        prefix = without_apostrophe(cell).removesuffix(name)
        assert re.fullmatch(r"(metric\.|parameter\.)*", prefix), (cell, name)
        assert cell.endswith(name)
    for cells, values in zip(rows, table_of(stored), strict=True):
        for name, cell, value in zip(head, cells, values, strict=True):
            assert is_cell(cell, value), (name, cell, value)


def require_ndjson(database: Engine, job_id: int, stored: list[Trial]) -> None:
    lines = b"".join(ndjson_chunks(database, job_id)).split(b"\n")
    assert lines.pop() == b""
    for line, trial in zip(lines, stored, strict=True):
        found = json.loads(line)
        for name in ("started_at", "finished_at"):
            moment = found.pop(name)
            assert (moment and datetime.fromisoformat(moment)) == getattr(trial, name)
        for name in ("metrics", "configuration", "effective"):
            # The types, and the order of the options, too.
            assert repr(found.pop(name)) == repr(getattr(trial, name))
        assert tuple(found.pop("warnings")) == trial.warnings
        assert found == {name: getattr(trial, name) for name in found}
        assert {*FIRST, "failure", "why"} == {*found, "started_at", "finished_at"}


def require_parquet(database: Engine, job_id: int, stored: list[Trial]) -> None:
    table = read_parquet(database, job_id)
    metrics, parameters = names_of(stored)
    values = [list(column) for column in zip(*table_of(stored), strict=True)]
    values = values or [[] for _ in table.columns]
    first_parameter = len(FIRST) + len(metrics)
    last_parameter = first_parameter + len(parameters)
    for place, (column, expected) in enumerate(zip(table.columns, values, strict=True)):
        if first_parameter <= place < last_parameter:
            assert column.type == kind_of(expected), (table.column_names[place], expected)
            if column.type == pa.string():
                expected = [as_text(value) for value in expected]
            elif column.type == pa.float64():
                expected = [None if value is None else float(value) for value in expected]
        assert list(map(kept, column.to_pylist())) == list(map(kept, expected))


class TestCsv:
    def test_to_the_byte(self, database: Engine):
        odd = replace(
            plain_trial(2),
            subject=1,
            configuration={"size": 2**70, "codec": 'a "b", c'},
            effective={"size": 2**70, "idle": 1},
            metrics={"time": 1e23},
            failure="died:\nno space,\r\nsorry",
            why="=1+1",
            host=None,
            bench_seconds=2.0,
        )
        job_id = job_of(database, [replace(plain_trial(1), bench_seconds=0.5, given=True), odd])
        assert b"".join(csv_chunks(database, job_id)) == (
            b"number,phase,purpose,state,subject,attempt,given,host,started_at,finished_at,"
            b"bench_seconds,waf,time,p99,size,ratio,flag,codec,failure,why\r\n"
            b"1,sample,candidate,done,,1,true,bench-1,2026-01-01T00:00:00.000000+00:00,"
            b"2026-01-02T03:04:05.000678+00:00,0.5,1.5,,0.14285714285714285,"
            b"10,0.3333333333333333,false,,,draw 1\r\n"
            b"2,sample,candidate,done,1,1,false,,2026-01-01T00:00:00.000000+00:00,"
            b"2026-01-02T03:04:05.000678+00:00,2.0,,1e+23,,"
            b'1180591620717411303424,,,"a ""b"", c","died:\nno space,\r\nsorry",\'=1+1\r\n'
        )

    @pytest.mark.parametrize(
        ("text", "cell"),
        [
            ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
            ("+cmd", "'+cmd"),
            ("-cmd", "'-cmd"),
            ("@SUM(1)", "'@SUM(1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'\r=1"),
            ("'=1", "''=1"),
            ("-1", "-1"),
            ("+1.5e-3", "+1.5e-3"),
            ("-1+1", "'-1+1"),
            ("-1\n", "'-1\n"),
            ("'quoted'", "'quoted'"),
            ("a=1", "a=1"),
        ],
    )
    def test_a_text_that_a_spreadsheet_would_run_is_marked(
        self, database: Engine, text: str, cell: str
    ):
        trial = replace(
            plain_trial(1),
            why=text, failure=text, host=text,
            configuration={"codec": text, f"{text}!": 1}, effective=None,
        )  # fmt: skip
        head, row = read_csv(database, job_of(database, [trial]))
        found = dict(zip(head, row, strict=True))
        assert [found[name] for name in ("why", "failure", "host", "codec")] == [cell] * 4
        assert without_apostrophe(cell) == text
        assert head[-3] == ("'" if text[0] in "=+-@\t\r" else "'" * (cell != text)) + f"{text}!"

    def test_what_is_unknown_is_empty_and_an_empty_text_is_quoted(self, database: Engine):
        trial = replace(plain_trial(1), why="", failure=None)
        text = b"".join(csv_chunks(database, job_of(database, [trial])))
        assert text.endswith(b',,""\r\n')


class TestNdjson:
    def test_documents_that_others_wrote_over_several_lines_stay_on_one(self, database: Engine):
        job_id = job_of(database, [plain_trial(1)])
        spread = json.dumps({"p99": 1.5, "two\nlines": 2.5}, indent=1)
        with database.begin() as connection:
            for column in ("configuration", "effective", "other_metrics"):
                connection.exec_driver_sql(f"UPDATE trial SET {column} = '\n {spread}\r\n'")
            connection.exec_driver_sql("UPDATE trial SET warnings = '[\n]'")
        (line,) = b"".join(ndjson_chunks(database, job_id)).splitlines()
        found = json.loads(line)
        assert found["metrics"] == {"waf": 1.5, "p99": 1.5, "two\nlines": 2.5}
        assert found["configuration"] == found["effective"] == json.loads(spread)


class TestParquet:
    def test_the_types_and_the_row_groups(self, database: Engine):
        written = b"".join(
            parquet_chunks(database, job_of(database, map(plain_trial, range(1, 12))))
        )
        file = pq.ParquetFile(io.BytesIO(written))
        assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [6, 5]
        assert {field.name: str(field.type) for field in file.schema_arrow} == {
            **dict.fromkeys(("phase", "purpose", "state", "host", "failure", "why"), "string"),
            **dict.fromkeys(("number", "subject", "attempt", "size"), "int64"),
            **dict.fromkeys(("bench_seconds", "waf", "p99", "ratio"), "double"),
            **dict.fromkeys(("started_at", "finished_at"), "timestamp[us, tz=UTC]"),
            **dict.fromkeys(("given", "flag"), "bool"),
        }

    def test_a_type_follows_from_all_trials_of_the_job_whatever_part_is_read(
        self, database: Engine
    ):
        late = replace(plain_trial(20), effective={"size": "auto", "ratio": 1})
        job_id = job_of(database, [*map(plain_trial, range(1, 9)), late])
        table = read_parquet(database, job_id, limit=2)
        assert table["size"].to_pylist() == ["10", "20"]
        assert table["ratio"].to_pylist() == [1 / 3, 2 / 3]
        assert table.num_rows == 2

    def test_comes_piece_by_piece(self, database: Engine):
        job_id = job_of(database, map(plain_trial, range(1, 41)))
        pieces = list(parquet_chunks(database, job_id))
        assert len(pieces) == 7 + 1
        assert all(pieces)


def kind_of(values: list[Any]) -> pa.DataType:
    present = [value for value in values if value is not None]
    kinds = {type(value) for value in present}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in present):
        return pa.int64()
    if kinds in ({float}, {int, float}) and all(
        abs(v) <= 2**53 for v in present if type(v) is int
    ):
        return pa.float64()
    return pa.string()


def as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    # As JSON has it; two writers of JSON may put the same double in other words.
    return orjson.dumps(value).decode() if isinstance(value, float) else json.dumps(value)


def kept(value: Any) -> str:
    """A value to compare: a double must not lose its last bit nor the sign of its zero."""
    if isinstance(value, str):
        return repr(str(value))
    return repr(value.astimezone(UTC) if isinstance(value, datetime) else value)


def test_no_name_occurs_twice():
    names = TrialNames(
        ("waf", "number", "metric.number", "why"), ("waf", "x", "number", "parameter.waf")
    )
    head = TrialColumns.of(names).head
    assert head[len(FIRST) : -2] == (
        "waf", "metric.number", "metric.metric.number", "metric.why",
        "parameter.waf", "x", "parameter.number", "parameter.parameter.waf",
    )  # fmt: skip


Chunks = Callable[..., Iterator[bytes]]


@pytest.mark.parametrize("chunks", FORMATS.values(), ids=FORMATS)
class TestEveryFormat:
    @pytest.mark.parametrize(("after", "limit"), [(0, 4), (5, None), (5, 2), (8, None), (0, 0)])
    def test_a_part_has_the_columns_of_the_whole(
        self, database: Engine, chunks: Chunks, after: int, limit: int | None
    ):
        trials = [*map(plain_trial, range(1, 8)), replace(plain_trial(8), metrics={"late": 1.0})]
        job_id = job_of(database, trials)
        expected = list(range(1, 9))[after:][:limit]
        part = {"after": after, "limit": limit}
        if chunks is csv_chunks:
            head, *rows = read_csv(database, job_id, **part)
            assert "late" in head
            found = [int(row[0]) for row in rows]
        elif chunks is parquet_chunks:
            table = read_parquet(database, job_id, **part)
            assert "late" in table.column_names
            found = table["number"].to_pylist()
        else:
            lines = b"".join(chunks(database, job_id, **part)).splitlines()
            found = [json.loads(line)["number"] for line in lines]
        assert found == expected

    def test_a_job_without_trials_has_none(self, database: Engine, chunks: Chunks):
        written = b"".join(chunks(database, 17))
        if chunks is csv_chunks:
            assert written == (",".join([*FIRST, "failure", "why"]) + "\r\n").encode()
        elif chunks is parquet_chunks:
            assert read_parquet(database, 17).num_rows == 0
        else:
            assert written == b""

    @pytest.mark.parametrize("taken", [0, 1, 2, 3])
    def test_a_reader_that_goes_away_gives_the_connection_back(
        self, database: Engine, chunks: Chunks, taken: int
    ):
        job_id = job_of(database, map(plain_trial, range(1, 31)))
        reading = chunks(database, job_id)
        for _ in range(taken):
            next(reading)
        assert database.pool.checkedout() == (taken > 0)
        reading.close()  # type: ignore[attr-defined]
        assert database.pool.checkedout() == 0
        assert b"".join(chunks(database, job_id))
        assert database.pool.checkedout() == 0

    def test_each_step_may_be_taken_by_another_thread(self, database: Engine, chunks: Chunks):
        job_id = job_of(database, map(plain_trial, range(1, 31)))
        whole = b"".join(chunks(database, job_id))
        reading = chunks(database, job_id)
        pieces: list[bytes] = []
        while True:
            with ThreadPoolExecutor(1) as thread:
                piece = thread.submit(next, reading, b"").result()
            if not piece:
                break
            pieces.append(piece)
        assert len(pieces) > 3
        assert b"".join(pieces) == whole

    def test_what_is_written_meanwhile_does_not_disturb(self, database: Engine, chunks: Chunks):
        job_id = job_of(database, map(plain_trial, range(1, 31)))
        whole = b"".join(chunks(database, job_id))
        reading = chunks(database, job_id)
        begun = next(reading)
        late = replace(plain_trial(40), metrics={"late": 1.0}, configuration={"late": "text"})
        add_trials(database, job_id, [late])
        assert begun + b"".join(reading) == whole

    def test_takes_no_more_memory_for_many_trials(
        self, database: Engine, chunks: Chunks, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(db.trials.trial_export, "PAGE", 50)
        monkeypatch.setattr(jobs.report.trial_export, "_GROUP", 500)
        few, many = (
            job_of(database, map(plain_trial, range(1, count + 1))) for count in (600, 2_400)
        )
        peaks = [peak(chunks(database, job_id)) for job_id in (few, few, many)]
        assert peaks[2] < 1.3 * peaks[1] + 20_000, peaks


def peak(chunks: Iterator[bytes]) -> int:
    tracemalloc.start()
    try:
        for _ in chunks:
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.one_database
def test_the_benchmark_prints_a_line_for_each_job(
    database_url: str, capsys: pytest.CaptureFixture[str]
):
    export_benchmark(["1010", "--db", database_url, "--format", "ndjson"])
    head, line = capsys.readouterr().out.splitlines()
    assert head.startswith("trials | rows/s | seconds")
    assert line.startswith("1,010 | ")
    assert len(line.split(" | ")) == len(head.split(" | "))
