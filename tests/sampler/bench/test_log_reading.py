from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler.bench.output import RocksdbLog, parse_log
from sampler.rocksdb.log_reader import LogReader
from tests.support.sampler.log_lines import AT_6, FLUSH_BEGINS, FLUSH_ENDS, OPENED, dump, event
from tests.support.sampler.real_runs import Kept

parts = st.sampled_from([
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


@given(st.lists(parts, max_size=8), st.lists(st.integers(0, 1500), max_size=5).map(sorted))
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
