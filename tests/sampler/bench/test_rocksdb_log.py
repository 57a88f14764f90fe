import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sampler.bench.output import RocksdbLog, parse_log, parse_output
from sampler.rocksdb.log_reader import LogReader
from tests.support.sampler.real_runs import OUTPUTS, Kept

# Lines as RocksDB writes them into its LOG.
FLUSH_BEGINS = "2026/11/21-06:00:02.500000 77 [DEBUG] [default] Manual flush start.\n"
FLUSH_ENDS = "2026/11/21-06:00:03.250000 77 [DEBUG] [default] Manual flush finished, status: OK\n"
OPENED = "2026/11/21-06:00:00.000001 77 DB pointer 0x55\n"
AT_6 = 1_795_240_800.0  # 2026-11-21 06:00:00 UTC


def event(name: str, moment: float, job: int = 3) -> str:
    told = json.dumps({"time_micros": round(moment * 1e6), "event": name, "job": job})
    return f"2026/11/21-06:00:01.000000 77 EVENT_LOG_v1 {told}\n"


def dump(written: int, percent: float = 1.5) -> str:
    return (
        "2026/11/21-06:00:04.000000 77 [WARN] [db/db_impl/db_impl.cc:1] STATISTICS:\n"
        f" rocksdb.bytes.written COUNT : {written}\n"
        f"rocksdb.flush.write.bytes COUNT : {written * 2}\n"
        "rocksdb.db.get.micros P50 : 0.000000 P95 : 0.0 COUNT : 0 SUM : 0\n"
        f"Cumulative stall: 00:00:0.543 H:M:S, {percent} percent\n"
    )


def nonsense(log: RocksdbLog) -> list[str]:
    numbers = {
        name: getattr(log, name) or 0.0
        for name in ("opened", "closed", "load_ended", "flushed", "work_ended")
    }
    numbers |= log.tickers
    return [name for name, number in numbers.items() if not 0 <= number < math.inf]


def test_stamps_are_read_as_utc_and_events_by_their_own_clock():
    log = parse_log(OPENED + event("flush_finished", AT_6 + 3) + FLUSH_BEGINS + FLUSH_ENDS)
    assert log.opened == pytest.approx(AT_6, abs=1e-4)
    assert log.load_ended == AT_6 + 2.5
    assert log.flushed == AT_6 + 3.25
    assert log.work_ended == AT_6 + 3


def test_the_last_opening_counts_because_db_bench_opens_twice():
    later = OPENED.replace("06:00:00", "06:00:09")
    assert parse_log(OPENED + later).opened == pytest.approx(AT_6 + 9, abs=1e-4)


def test_work_under_way_is_what_began_and_has_not_ended():
    begun = event("compaction_started", AT_6, 1) + event("flush_started", AT_6 + 1, 2)
    assert parse_log(begun).working == 2
    assert parse_log(begun).work_ended is None
    done = begun + event("flush_finished", AT_6 + 2, 2) + event("compaction_finished", AT_6 + 7, 1)
    assert (parse_log(done).working, parse_log(done).work_ended) == (0, AT_6 + 7)


def test_events_of_other_kinds_are_no_work():
    other = event("recovery_started", AT_6) + event("trivial_move", AT_6)
    assert parse_log(other) == RocksdbLog()


def test_events_without_what_is_counted_of_them_are_told():
    """As a version would write them that renames a field; a line that is cut off is none."""
    made = event("table_file_creation", AT_6)
    flush = event("flush_started", AT_6).replace('"job"', '"flush_job"')
    compacted = event("compaction_finished", AT_6)
    log = parse_log(made + flush + made[:-3] + "\n")
    assert log.lacking == {("table_file_creation", "file_size"): 1, ("flush_started", "job"): 1}
    assert parse_log(compacted).level_bytes == {}
    told = compacted.replace("}", ', "output_level": 2, "total_output_size": 70}')
    assert parse_log(told).level_bytes == {"compact.write.bytes.level2": 70}
    assert parse_log(told + compacted).level_bytes == {}


def test_bytes_of_blobs_are_of_the_level_that_the_compaction_wrote_to():
    told = event("compaction_finished", AT_6).replace(
        "}", ', "output_level": 6, "total_output_size": 70, "total_blob_output_size": 900}'
    )
    assert parse_log(told).compacted == {6: 970}


def test_the_last_whole_dump_counts():
    log = parse_log(dump(100) + dump(200))
    assert log.tickers == {"bytes.written": 200, "flush.write.bytes": 400}


def test_a_dump_that_is_cut_off_is_passed_over_for_the_one_before():
    second = dump(200)
    whole = second.index("\n", second.index("rocksdb.db.get.micros P50 : ")) + 1
    for end in range(len(second)):
        log = parse_log(dump(100) + second[:end])
        written = 200 if end >= whole else 100
        assert log.tickers == {"bytes.written": written, "flush.write.bytes": 2 * written}


def test_an_only_dump_that_is_cut_off_is_none():
    assert parse_log(dump(100)[:-120]).tickers == {}


@pytest.mark.parametrize(
    "broken",
    [
        'EVENT_LOG_v1 {"job": 1, "time_micros": 1, "event": "flush_started"',
        'EVENT_LOG_v1 {"job": true, "time_micros": 1, "event": "flush_finished"}',
        'EVENT_LOG_v1 {"job": [1], "time_micros": 1, "event": "flush_finished"}',
        'EVENT_LOG_v1 {"job": 1, "time_micros": "1", "event": "flush_finished"}',
        'EVENT_LOG_v1 {"job": 1, "time_micros": -1, "event": "flush_finished"}',
        'EVENT_LOG_v1 {"job": 1, "time_micros": 1e400, "event": "flush_finished"}',
        'EVENT_LOG_v1 {"job": 1, "time_micros": 1, "event": ["flush_started"]}',
        'EVENT_LOG_v1 {"job": 1, "time_micros": true, "event": "flush_finished"}',
        "EVENT_LOG_v1 " + "{" * 5000 + "}",
        "EVENT_LOG_v1 {}",
        "2026/13/45-99:00:00.000000 77 DB pointer 0x1",
        "0001/01/01-00:00:00.000000 77 DB pointer 0x1",
        "DB pointer 0x1",
    ],
)
def test_a_broken_line_is_passed_over(broken: str):
    assert replace(parse_log(broken + "\n"), lacking=Counter()) == RocksdbLog()


@pytest.mark.db_bench
def test_a_real_log_tells_of_the_load_the_flush_and_the_work(measured_flush: Kept):
    log = parse_log(measured_flush.log)
    assert log.opened is not None and log.load_ended is not None and log.flushed is not None
    assert log.opened < log.load_ended < log.flushed
    assert log.work_ended is not None and log.opened < log.work_ended


@pytest.mark.db_bench
def test_the_clock_of_a_real_log_s_stamps_is_that_of_its_events(measured_flush: Kept):
    log = parse_log(measured_flush.log)
    assert log.opened is not None and log.work_ended is not None
    assert 0 < log.work_ended - log.opened < measured_flush.ended.wall_seconds


@pytest.mark.db_bench
def test_a_real_log_cut_off_anywhere_gives_figures_of_the_whole_or_fewer(measured_flush: Kept):
    text = measured_flush.log
    whole = parse_log(text)
    assert nonsense(whole) == [] and len(text) > 20_000
    begins = text.index("DB pointer")
    opening, rest = text[begins - 100 : begins + 2_000], text[-6_000:]
    for end in range(0, len(opening + rest), 50):
        part = parse_log((opening + rest)[:end])
        assert nonsense(part) == [], end
    for end in range(0, len(text), len(text) // 40):
        part = parse_log(text[:end])
        assert nonsense(part) == [] and part.working >= 0, end


@pytest.mark.db_bench
def test_a_real_log_cut_off_in_a_dump_gives_the_dump_before(measured_flush: Kept):
    real = (OUTPUTS / "load_default_settle_wait.txt").read_text()
    statistics = real[real.index("STATISTICS:") :]
    stamp = "2026/11/21-06:00:04.000000 77 [WARN] [db/db_impl/db_impl.cc:1000] "
    text = measured_flush.log + stamp + statistics
    later = parse_output(real).tickers
    begins = len(measured_flush.log) + len(stamp)
    first_histogram = text.index(" P50 : ", begins)
    for end in (begins + 11, begins + 5000, first_histogram):
        assert parse_log(text[:end]).tickers != later
    assert parse_log(text).tickers == later


@st.composite
def mutated_logs(draw: st.DrawFn) -> str:
    pieces = [OPENED, FLUSH_BEGINS, FLUSH_ENDS, dump(5), event("flush_started", AT_6)]
    text = "".join(draw(st.lists(st.sampled_from(pieces), max_size=8)))
    for _ in range(draw(st.integers(0, 4))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.integers(0, 30)))
        text = text[:begin] + draw(st.text(max_size=12)) + text[end:]
    return text


@given(st.one_of(mutated_logs(), st.text(), st.binary().map(lambda b: b.decode("latin-1"))))
@example(f"Cumulative stall: 1, {'9' * 400} percent\n")
def test_no_log_breaks_the_parser_or_makes_it_tell_nonsense(text: str):
    assert nonsense(parse_log(text)) == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@settings(max_examples=200)
@given(
    st.dictionaries(st.sampled_from(["time_micros", "event", "job"]), json_values),
)
def test_no_event_breaks_the_parser(told: dict[str, object]):
    log = parse_log(f"2026/11/21-06:00:01.000000 77 EVENT_LOG_v1 {json.dumps(told)}\n")
    assert nonsense(log) == []


def test_the_sizes_of_files_that_jobs_made_are_added_up():
    table = (
        'EVENT_LOG_v1 {"event": "table_file_creation", "file_number": 9, "file_size": 4122, '
        '"file_checksum": ""}\n'
    )
    blob = (
        'EVENT_LOG_v1 {"event": "blob_file_creation", "file_number": 10, '
        '"total_blob_count": 225, "total_blob_bytes": 235800, "x": ""}\n'
    )
    log = parse_log(table + blob + table)
    assert log.created_bytes == 2 * 4122 + 235_800


def compacted(level: int, size: int) -> str:
    """As RocksDB 7.8 tells it, some fields left out."""
    return (
        "2026/11/21-06:00:03.000000 77 (Original Log Time 2026/11/21-06:00:02.999000) "
        "EVENT_LOG_v1 "
        '{"time_micros": 1795240803000000, "job": 9, "event": "compaction_finished", '
        f'"compaction_time_micros": 82123, "output_level": {level}, "num_output_files": 2, '
        f'"total_output_size": {size}, "num_input_records": 5000, "lsm_state": [0, 2]}}\n'
    )


ended = st.builds(compacted, st.integers(0, 6), st.integers(0, 10**12))


@given(st.lists(ended, max_size=9))
def test_what_compactions_wrote_is_added_up_by_level(lines: list[str]):
    assert sum(parse_log("".join(lines)).compacted.values()) == sum(
        int(line.partition('"total_output_size": ')[2].partition(",")[0]) for line in lines
    )


def test_each_level_has_its_own_sum():
    text = compacted(1, 70) + compacted(2, 5) + FLUSH_ENDS + compacted(1, 30)
    assert parse_log(text).compacted == {1: 100, 2: 5}


GROWING = st.sampled_from([
    OPENED,
    FLUSH_BEGINS,
    FLUSH_ENDS,
    dump(5),
    dump(700, percent=7.5),
    dump(9)[:-120] + "\n",
    "2026/11/21-06:00:01.000000 77 straße\n",
    *(
        event(name, AT_6 + job, job)
        for name in ("flush_started", "flush_finished", "compaction_finished")
        for job in (1, 2)
    ),
])  # fmt: skip


@given(st.lists(GROWING, max_size=8), st.lists(st.integers(0, 1500), max_size=5).map(sorted))
def test_a_log_that_grows_tells_what_it_holds_at_each_look(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], looks: list[int]
):
    path = tmp_path_factory.getbasetemp() / "growing"
    text, reader = "".join(lines).encode(), LogReader(path, RocksdbLog)
    path.write_bytes(b"")
    for end in [*looks, len(text)]:
        with path.open("ab") as file:
            file.write(text[path.stat().st_size : end])
        assert reader.read() == parse_log(path.read_bytes().decode(errors="replace"))


def test_what_was_read_is_not_read_again(tmp_path: Path):
    path = tmp_path / "LOG"
    path.write_text(OPENED + dump(5))
    reader = LogReader(path, RocksdbLog)
    assert reader.read().opened is not None
    with path.open("r+") as file:
        file.write("x" * len(OPENED))
        file.seek(0, 2)
        file.write(FLUSH_BEGINS)
    log = reader.read()
    assert log.opened is not None and log.load_ended is not None and log.tickers


def test_another_log_at_the_same_path_is_read_from_its_beginning(tmp_path: Path):
    path = tmp_path / "LOG"
    path.write_text(OPENED + dump(5))
    reader = LogReader(path, RocksdbLog)
    assert reader.read().opened is not None
    path.rename(tmp_path / "before")
    path.write_text(FLUSH_BEGINS + dump(7) + dump(9))
    log = reader.read()
    assert log == parse_log(path.read_text()) and log.opened is None


@pytest.mark.db_bench
def test_so_does_a_real_one(measured_flush: Kept, tmp_path: Path):
    path = tmp_path / "LOG"
    path.write_text(measured_flush.log, encoding="utf-8")
    whole = LogReader(path, RocksdbLog).read()
    assert whole == parse_log(measured_flush.log) and whole.tickers


def test_a_compaction_that_began_long_ago_is_under_way_until_it_ends(tmp_path: Path):
    path = tmp_path / "LOG"
    between = "".join(event("flush_finished", AT_6 + 1, job) for job in range(10, 60))
    path.write_text(event("compaction_started", AT_6, 1) + between)
    assert LogReader(path, RocksdbLog).read().working == 1
    path.write_text(path.read_text() + event("compaction_finished", AT_6 + 90, 1))
    log = LogReader(path, RocksdbLog).read()
    assert (log.working, log.work_ended) == (0, AT_6 + 90)


def test_a_log_without_a_line_s_end_is_not_kept_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sampler.rocksdb.log_reader.LONGEST_LINE", 100)
    path, taken = tmp_path / "LOG", []
    monkeypatch.setattr(RocksdbLog, "take", lambda _, line, __: taken.append(len(line)))
    path.write_bytes(b"x" * 1050)
    LogReader(path, RocksdbLog).read()
    assert taken == [100] * 10


def test_where_there_is_no_log_nothing_is_known(tmp_path: Path):
    assert LogReader(tmp_path / "LOG", RocksdbLog).read() == RocksdbLog()
