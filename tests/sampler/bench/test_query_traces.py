"""Records of traces, and slices of them."""

import os
import struct
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler.bench import query_trace
from sampler.bench.query_trace import (
    DamagedTraceError,
    Records,
    is_trace,
    open_trace,
    write_slice,
)
from sampler.common.errors import InputError
from sampler.workload.workload import Trace
from tests.support.sampler.traces import (
    FAMILIES,
    MIXED,
    START,
    Done,
    batch,
    get,
    header,
    multiget,
    record,
    seek,
    text,
    whole,
    write,
)

TEXTS = st.binary(min_size=0, max_size=300)
WRITTEN = st.tuples(
    st.sampled_from(["put", "merge", "delete", "delete_range"]),
    st.sampled_from([0, 1, 200]),
    TEXTS,
    TEXTS,
)


def operations(path: Path) -> list[Done]:
    with open_trace(path, "trace") as file:
        records = Records(file, "trace")
        found = [op for _, kind, load in records for op in records.operations(kind, load)]
        assert not records.ended
    return found


def saved(folder: Path, data: bytes) -> Path:
    path = folder / "made.trace"
    path.write_bytes(data)
    return path


@given(batches=st.lists(st.lists(WRITTEN, min_size=1, max_size=4), min_size=1, max_size=5))
def test_each_key_of_each_batch_is_read_in_its_order(
    batches: list[list[Done]], tmp_path_factory: pytest.TempPathFactory
):
    path = saved(tmp_path_factory.mktemp("trace"), whole(*(write(1, *each) for each in batches)))
    wanted = [
        (what, family, key, b"" if what == "delete" else value)
        for each in batches
        for what, family, key, value in each
    ]
    assert operations(path) == wanted


def test_reads_name_their_family_and_key(tmp_path: Path):
    long = b"k" * 200
    data = whole(get(1, 0, b"a"), seek(2, 3, b"p", b"q"), multiget(3, (0, b"b"), (7, long)))
    assert operations(saved(tmp_path, data)) == [
        ("get", 0, b"a", b""),
        ("seek", 3, b"p", b""),
        ("multiget", 0, b"b", b""),
        ("multiget", 7, long, b""),
    ]


def test_marks_of_transactions_and_of_the_log_are_no_operations(tmp_path: Path):
    marks = b"\x09\x0d\x03" + text(b"note") + b"\x0a" + text(b"id") + b"\x0b" + text(b"id")
    data = whole(write(1, ("put", 0, b"a", b"1"), marks=marks))
    assert operations(saved(tmp_path, data)) == [("put", 0, b"a", b"1")]


def test_the_first_version_has_no_map_before_its_payloads(tmp_path: Path):
    put: Done = ("put", 2, b"a", b"1")
    data = whole(
        record(1, 3, batch([put])),
        record(2, 4, struct.pack("<I", 2) + text(b"a")),
        version="0.1",
    )
    assert operations(saved(tmp_path, data)) == [put, ("get", 2, b"a", b"")]


def test_what_db_bench_recorded_is_read():
    kinds = Counter(what for what, *_ in operations(MIXED))
    assert kinds == {"get": 450, "put": 360, "delete": 90}
    assert {family for _, family, _, _ in operations(FAMILIES)} == {0, 1, 2}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is empty; give one written by DB::StartTrace"),
        (b"x", "is not a RocksDB trace"),
        (os.urandom(5000), "is not a RocksDB trace"),
        (record(0, 1, b"\x10feedcafedeadbeef\x07\0\0\0\x08\0\0\0"), "is a block cache trace"),
        (header("0.3"), "has trace version 0.3, and only 0.1 and 0.2 are supported"),
        (header()[:40], "is not a RocksDB trace"),
    ],
)
def test_what_is_no_trace_is_refused_in_one_line(tmp_path: Path, data: bytes, problem: str):
    with open_trace(saved(tmp_path, data), "trace") as file, pytest.raises(InputError) as refused:
        Records(file, "trace")
    assert (refused.value.field, problem in refused.value.problem) == ("trace", True)


def test_what_cannot_be_opened_is_refused(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path, why in (
        (tmp_path / "missing", "No such file"),
        (tmp_path, "is not a file"),
        (tmp_path / "pipe", "is not a file"),
    ):
        assert not is_trace(path)
        with pytest.raises(InputError, match=why):
            open_trace(path, "trace")


def test_a_trace_is_known_by_its_first_bytes(tmp_path: Path):
    assert is_trace(MIXED)
    assert is_trace(saved(tmp_path, record(0, 1, b"\x10feedcafedeadbeef")))
    assert not is_trace(saved(tmp_path, b"RocksDB version: 7.8.3"))


@given(place=st.integers(min_value=0), byte=st.integers(0, 255))
def test_a_damaged_trace_is_read_as_far_as_it_goes(
    place: int, byte: int, tmp_path_factory: pytest.TempPathFactory
):
    data = bytearray(MIXED.read_bytes()[:20_000])
    data[place % len(data)] = byte
    with open_trace(saved(tmp_path_factory.mktemp("cut"), bytes(data)), "trace") as file:
        try:
            records = Records(file, "trace")
            for _, kind, payload in records:
                records.operations(kind, payload)
        except (InputError, DamagedTraceError):
            return
    assert records.ended


def ten(tmp_path: Path) -> Path:
    """A get a second, from the first second on."""
    return saved(tmp_path, whole(*(get(10**6 * n, 0, b"%d" % n) for n in range(1, 11))))


def test_a_slice_begins_at_its_own_time_and_ends_with_a_last_record(tmp_path: Path):
    path, target = ten(tmp_path), tmp_path / "slice"
    part = Trace(path=str(path), begin=3.0, end=6.0)
    assert write_slice(part, target, families=1, merging=False) == 3
    assert [key for _, _, key, _ in operations(target)] == [b"3", b"4", b"5"]
    with open_trace(target, "trace") as file:
        assert Records(file, "trace").began == START + 3 * 10**6


def test_a_slice_of_all_holds_the_very_records(tmp_path: Path):
    target = tmp_path / "slice"
    write_slice(Trace(path=str(MIXED)), target, families=1, merging=True)
    assert target.read_bytes()[:-13] == MIXED.read_bytes()[:-13]


def test_a_trace_that_is_cut_off_gives_a_whole_slice(tmp_path: Path):
    target = tmp_path / "slice"
    cut = Trace(path=str(saved(tmp_path, MIXED.read_bytes()[:20_000])))
    write_slice(cut, target, families=1, merging=True)
    assert operations(target) == operations(MIXED)[: len(operations(target))]
    assert len(operations(target)) > 100


@pytest.mark.parametrize("part", [{"begin": 20.0}, {"end": 0.5}])
def test_a_part_without_a_record_is_refused(tmp_path: Path, part: dict[str, float]):
    with pytest.raises(InputError, match=r"^workload\.trace: has no record in that part"):
        trace = Trace(path=str(ten(tmp_path)), **part)
        write_slice(trace, tmp_path / "slice", families=1, merging=False)


def test_what_db_bench_cannot_replay_is_told_before(tmp_path: Path):
    two = saved(tmp_path, whole(write(1, ("put", 1, b"a", b"1"), ("merge", 0, b"b", b"2"))))
    part, target = Trace(path=str(two)), tmp_path / "slice"
    assert write_slice(part, target, families=2, merging=True) == 1
    assert target.stat().st_mode & 0o777 == 0o600  # it holds keys and values
    flags = r"^workload\.flags\."
    with pytest.raises(InputError, match=flags + "num_column_families: the trace uses 2"):
        write_slice(part, target, families=1, merging=True)
    with pytest.raises(InputError, match=flags + "merge_operator: the trace has merges"):
        write_slice(part, target, families=2, merging=False)


def test_a_number_without_end_is_damage_and_is_not_read_to_its_end(tmp_path: Path):
    endless = get(1, 0, b"a")[:-2] + b"\xff" * 100
    record = endless[:9] + (len(endless) - 13).to_bytes(4, "little") + endless[13:]
    with pytest.raises(DamagedTraceError):
        operations(saved(tmp_path, whole(record)))
    with pytest.raises(IndexError):  # a number of so many bytes would be a number all the same
        query_trace._after_number(b"\xff" * 20 + b"\x01", 0)


def test_a_batch_of_another_count_is_damaged(tmp_path: Path):
    data = bytearray(whole(write(1, ("put", 0, b"a", b"1"), ("put", 0, b"b", b"2"))))
    data[data.index(b"\x02\0\0\0\x01")] = 3
    with pytest.raises(DamagedTraceError, match="a record of type 3 is damaged"):
        operations(saved(tmp_path, bytes(data)))
