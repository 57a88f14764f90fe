"""What is no database, or a part of a LOG, is refused in one line, or read as far as it goes."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler.common.errors import InputError
from sampler.profile.reading import read_profile
from tests.support.sampler.real_databases import fingerprints

CASES = Path(__file__).parents[2] / "data" / "cases"
SAMPLE = (CASES / "20-log-parser-samples" / "LOG_sample").read_bytes()
LEVELDB = """2024/01/02-03:04:05.678901 7f Recovering log #3
2024/01/02-03:04:05.678902 7f Level-0 table #5: started
2024/01/02-03:04:05.678903 7f Level-0 table #5: 165 bytes OK
2024/01/02-03:04:05.678904 7f Delete type=0 #3
"""
NGINX = '127.0.0.1 - - [02/Jan/2024:03:04:05 +0000] "GET / HTTP/1.1" 200 615 "-" "curl/8.0"\n'


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "LOG"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is not a RocksDB LOG"),
        (NGINX.encode() * 1000, "is not a RocksDB LOG"),
        (LEVELDB.encode(), "is a LevelDB LOG; give a RocksDB LOG"),
        (os.urandom(3 * 2**20), "is not a RocksDB LOG"),
        (bytes(3 * 2**20), "is not a RocksDB LOG"),
        (b"[osd]\nbluestore_rocksdb_options = a=1,b=2\n", "is a configuration of Ceph"),
        (gzip.compress(SAMPLE), "is compressed with gzip; decompress it first"),
    ],
    ids=["empty", "nginx", "leveldb", "garbage", "zeros", "ceph", "packed"],
)
def test_other_files_are_refused(log: Path, content: bytes, problem: str) -> None:
    log.write_bytes(content)
    for path in (log, log.parent):
        with pytest.raises(InputError) as refused:
            read_profile(path)
        assert str(refused.value).startswith(f"LOG {log}: {problem}")
        assert "\n" not in str(refused.value)


def test_folders_that_hold_no_log_are_refused(tmp_path: Path) -> None:
    (tmp_path / "OPTIONS-000007").write_text("[DBOptions]\n")
    for path in (tmp_path, tmp_path / "away"):
        with pytest.raises(InputError, match=f"^database {path}: (has no LOG|does not exist)"):
            read_profile(path)


def test_nothing_is_followed_out_of_the_folder_or_waited_for(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "db"
    folder.mkdir()
    outside.write_bytes(SAMPLE)
    (folder / "LOG").symlink_to(outside)
    with pytest.raises(InputError, match=f"LOG: is a symbolic link to {outside}; give that file"):
        read_profile(folder)
    (folder / "LOG").unlink()
    os.mkfifo(folder / "LOG")
    with pytest.raises(InputError, match="LOG: is not a file"):
        read_profile(folder)
    (folder / "LOG").unlink()
    (folder / "LOG").write_bytes(SAMPLE)
    (folder / "OPTIONS-000009").symlink_to(outside)
    told: list[str] = []
    assert read_profile(folder, told=told.append).options is None
    assert told[0].startswith("OPTIONS-000009: is a symbolic link")


@pytest.mark.parametrize("denied", ["LOG", "."])
def test_what_may_not_be_read_is_said(
    log: Path, monkeypatch: pytest.MonkeyPatch, denied: str
) -> None:
    log.write_bytes(SAMPLE)
    opened, listed = os.open, os.listdir

    def refuse(path: str | Path, *rest: int, **more: int) -> int:
        if Path(path).name == denied:
            raise PermissionError(13, "Permission denied")
        return opened(path, *rest, **more)

    def refuse_list(path: Path) -> list[str]:
        if denied == ".":
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "listdir", refuse_list)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        read_profile(log.parent)


def test_an_options_file_that_cannot_be_read_gives_way_to_an_older_one(log: Path) -> None:
    log.write_bytes(SAMPLE)
    older = '[DBOptions]\n[CFOptions "default"]\n'
    (log.parent / "OPTIONS-000009").write_text("[DBOptions\n")
    (log.parent / "OPTIONS-000011.dbtmp").write_text(older)
    (log.parent / "OPTIONS-000008").write_text(older)
    (log.parent / "OPTIONS-000007").write_text(f"{older}# oldest\n")
    told: list[str] = []
    assert read_profile(log.parent, told=told.append).options == older
    assert told[0].startswith("OPTIONS-000009: line 1 is not key=value in a section")


@pytest.mark.slow
@settings(max_examples=40)
@given(st.integers(0, len(SAMPLE)), st.binary(max_size=40))
def test_a_log_that_is_cut_or_spoilt_anywhere_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, at: int, spoilt: bytes
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    for content in (SAMPLE[:at], SAMPLE[at:], SAMPLE[:at] + spoilt + SAMPLE[at:]):
        (folder / "LOG").write_bytes(content)
        before = fingerprints(folder)
        try:
            profile = read_profile(folder)
        except InputError:
            continue
        finally:
            assert fingerprints(folder) == before
        assert profile.families
        for family in profile.families:
            assert 0 <= (family.overwrite_share or 0) <= 1
            assert 0 <= (family.compression_ratio or 0) <= 1
            assert min(family.operations.values(), default=0) >= 0


_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)
_NAMES = (
    "flush_started", "table_file_creation", "compaction_started", "compaction_finished",
    "table_file_deletion", "blob_file_creation",
)  # fmt: skip
_FIELDS = (
    "job", "file_number", "file_size", "cf_name", "num_entries", "num_deletes", "files_L0",
    "num_input_records", "num_output_records", "output_level", "time_micros",
)  # fmt: skip
_EVENTS = st.lists(
    st.tuples(
        st.sampled_from(_NAMES),
        st.dictionaries(st.sampled_from(_FIELDS), st.integers(0, 9) | _VALUE),
        st.dictionaries(
            st.sampled_from(("num_entries", "num_deletions", "raw_key_size", "raw_value_size")),
            st.integers(0, 9) | _VALUE,
        ),
    ),
    max_size=12,
)


@given(_EVENTS)
def test_events_may_hold_anything(
    tmp_path_factory: pytest.TempPathFactory, events: list[tuple[str, dict[str, object], object]]
) -> None:
    log = tmp_path_factory.mktemp("events") / "LOG"
    lines = ["x RocksDB version: 7.8.3", "x SST files in d dir, Total Num: 0, files:"]
    lines += ["x Recovered from manifest file"]
    for name, fields, properties in events:
        event = {**fields, "event": name, "table_properties": properties}
        lines += ["x [default] [JOB 1] Compacted", f"x EVENT_LOG_v1 {json.dumps(event)}"]
        lines += ["x [default] Level-0 commit table #1: memtable #1 done"]
    log.write_text("\n".join(lines))
    read_profile(log)
