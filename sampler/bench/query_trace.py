"""Traces of operations that RocksDB writes (``DB::StartTrace``): records, and slices.

A file is records, each of its time (8 bytes, us since the epoch), its type (1), the length of its
payload (4) and that; the first names the format's version, the last has no payload. From version
0.2 on a payload begins with 8 bytes that tell what is in it. A write's payload is a WriteBatch.
Sources: RocksDB's trace_replay/trace_replay.cc and .h, include/rocksdb/trace_record.h (types),
db/write_batch.cc and db/dbformat.h (tags); tried with 7.8.3 and 9.10.
"""

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from sampler.common.atomic_write import private_writer
from sampler.common.errors import InputError
from sampler.workload.workload import Trace

BEGIN, END, WRITE, GET, SEEK, SEEK_FOR_PREV, MULTIGET = 1, 2, 3, 4, 5, 6, 13
_KNOWN = frozenset((WRITE, GET, SEEK, SEEK_FOR_PREV, MULTIGET))
_HEAD = struct.Struct("<QBI")
_UINT32 = struct.Struct("<I")
_MAGIC = b"feedcafedeadbeef"
_HEADER = re.compile(
    _MAGIC + rb"\tTrace Version: (\d{1,3}\.\d{1,3})\tRocksDB Version: (\d{1,4}\.\d{1,4})\t"
)
_VERSIONS = ("0.1", "0.2")
_MOST_HEADER = 200  # bytes; it has 90
_MOST_RECORD = 2**28  # bytes; more would be a length that was never written
_BATCH_HEAD = 12  # its sequence number and its count
_READ_BYTES = 2**20
_FIX = "give one written by DB::StartTrace"
# What a record of a WriteBatch does by its tag, whether it names a family, and how many texts with
# a length before them it has: marks of transactions and of the log do nothing to a key.
_TAGS: dict[int, tuple[str, bool, int]] = {
    0x0: ("delete", False, 1), 0x4: ("delete", True, 1),
    0x1: ("put", False, 2), 0x5: ("put", True, 2),
    0x2: ("merge", False, 2), 0x6: ("merge", True, 2),
    0x7: ("delete", False, 1), 0x8: ("delete", True, 1),  # SingleDelete
    0xF: ("delete_range", False, 2), 0xE: ("delete_range", True, 2),
    0x11: ("put", False, 2), 0x10: ("put", True, 2),  # an index into a blob file
    0x16: ("put", False, 2), 0x17: ("put", True, 2),  # a wide-column entity
    0x18: ("put", False, 2), 0x19: ("put", True, 2),  # TimedPut
    0x3: ("", False, 1), 0x9: ("", False, 0), 0xA: ("", False, 1), 0xB: ("", False, 1),
    0xC: ("", False, 1), 0xD: ("", False, 0), 0x12: ("", False, 0), 0x13: ("", False, 0),
    0x15: ("", False, 2),
}  # fmt: skip
# What is done, the id of the column family, the key and the value (the end of a range).
Operation = tuple[str, int, bytes, bytes]


class DamagedTraceError(ValueError):
    """A record cannot be what RocksDB writes."""


def is_trace(path: Path) -> bool:
    """Whether a file begins as one of RocksDB's traces does, those of its block cache included.

    What cannot be read is none.
    """
    try:
        if not path.is_file():  # a pipe would be waited for
            return False
        with path.open("rb") as file:
            return _MAGIC in file.read(_HEAD.size + 1 + len(_MAGIC))
    except OSError:
        return False


class Records:
    """The records of a trace between its first and its last, from a file opened for reading.

    Attributes:
        version: The trace's, ``0.2``.
        rocksdb: Version of the RocksDB that wrote it, ``7.8``.
        began: When it was begun, us since the epoch.
        header: The payload of its first record.
        at: Bytes read so far.
        ended: Why it ends before its last record; empty: it does not, or is not read so far.

    Raises:
        InputError: It is no trace of operations, or one of an unknown version.
    """

    def __init__(self, file: BinaryIO, field: str) -> None:
        self._file, self.ended = file, ""
        start = file.read(_HEAD.size)
        if not start:
            raise InputError(field, f"is empty; {_FIX}")
        length = 0
        if len(start) == _HEAD.size:
            self.began, kind, length = _HEAD.unpack(start)
        self.header = file.read(min(length, _MOST_HEADER))
        if self.header[1 : 1 + len(_MAGIC)] == _MAGIC:
            raise InputError(field, f"is a block cache trace, without operations; {_FIX}")
        found = _HEADER.match(self.header)
        if found is None or kind != BEGIN or length > _MOST_HEADER:
            raise InputError(field, f"is not a RocksDB trace; {_FIX}")
        self.version, self.rocksdb = (part.decode() for part in found.groups())
        if self.version not in _VERSIONS:
            known = " and ".join(_VERSIONS)
            problem = f"has trace version {self.version}, and only {known} are supported"
            raise InputError(field, f"{problem}; record it with another RocksDB")
        self.at = _HEAD.size + length

    def __iter__(self) -> Iterator[tuple[int, int, bytes]]:
        """Time, type and payload of each; ends where the file is cut off or damaged."""
        read, unpack, size = self._file.read, _HEAD.unpack, _HEAD.size
        while True:
            head = read(size)
            if len(head) < size:
                self.ended = f"it ends after {self.at:,} bytes, without an end record"
                return
            time, kind, length = unpack(head)
            if kind == END and not length:
                self.at += size
                return
            if kind not in _KNOWN or length > _MOST_RECORD:
                self.ended = f"the data after its first {self.at:,} bytes is not a record"
                return
            payload = read(length)
            if len(payload) < length:
                self.ended = f"it is truncated after {self.at:,} bytes"
                return
            self.at += size + length
            yield time, kind, payload

    def operations(self, kind: int, payload: bytes) -> list[Operation]:
        """What a record does, key by key, in its order.

        Raises:
            DamagedTraceError: Its payload is not of its type.
        """
        marked = 0 if self.version == "0.1" else 8
        try:
            if kind == WRITE:
                at = _after_number(payload, marked)[1] if marked else 0
                return _of_batch(payload, at)
            if kind == MULTIGET:
                return _of_multiget(payload, marked)
            (family,) = _UINT32.unpack_from(payload, marked)
            key, _ = _text(payload, marked + 4)
            return [("get" if kind == GET else "seek", family, key, b"")]
        except (struct.error, IndexError, KeyError) as error:
            raise DamagedTraceError(f"a record of type {kind} is damaged") from error


def _of_batch(data: bytes, at: int) -> list[Operation]:
    """The operations of a WriteBatch that begins there and ends with the data."""
    found: list[Operation] = []
    (count,) = _UINT32.unpack_from(data, at + 8)  # after its sequence number
    at, end = at + _BATCH_HEAD, len(data)
    while at < end:
        what, named, texts = _TAGS[data[at]]
        at += 1
        family = 0
        key = value = b""
        if named:
            family, at = _after_number(data, at)
        if texts:
            key, at = _text(data, at)
        if texts == 2:
            value, at = _text(data, at)
        if what:
            found.append((what, family, key, value))
    if len(found) != count:
        raise IndexError
    return found


def _of_multiget(data: bytes, at: int) -> list[Operation]:
    (count,) = _UINT32.unpack_from(data, at)
    families, at = _text(data, at + 4)
    keys, _ = _text(data, at)
    found: list[Operation] = []
    at = 0
    for place in range(count):
        (family,) = _UINT32.unpack_from(families, 4 * place)
        key, at = _text(keys, at)
        found.append(("multiget", family, key, b""))
    return found


def _text(data: bytes, at: int) -> tuple[bytes, int]:
    """A text with its length before it, and where it ends."""
    size = data[at]
    at += 1
    if size >= 128:
        size, at = _after_number(data, at - 1)
    end = at + size
    if end > len(data):
        raise IndexError
    return data[at:end], end


def _after_number(data: bytes, at: int) -> tuple[int, int]:
    """A number in groups of seven bits, the lowest first, and where it ends."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
        if shift > 63:  # no number of RocksDB's is longer
            raise IndexError


def open_trace(path: Path, field: str) -> BinaryIO:
    """A trace for reading; nothing is ever written to it.

    Raises:
        InputError: It cannot be read.
    """
    try:
        if path.exists() and not path.is_file():
            raise InputError(field, f"{str(path)!r} is not a file; give a trace file")
        return path.open("rb", buffering=_READ_BYTES)
    except OSError as error:
        raise InputError(field, f"cannot read {str(path)!r}: {error.strerror}") from None


def write_slice(trace: Trace, target: Path, *, families: int, merging: bool) -> int:
    """Copies the records of a workload's part of its trace, between a first and a last of its own.

    db_bench waits until the time of each record has come since that of the first, so the first has
    the time at which the part begins. A trace that is cut off or damaged ends before that. With
    several threads db_bench says nothing of writes that RocksDB refuses, so they are refused here:
    of a database of so many column ``families``, ``merging`` where it has a merge operator.

    Returns:
        How many records it has.

    Raises:
        InputError: It is no trace that can be read, has no record in that part, or cannot be
            replayed with such a database.
    """
    field = "workload.trace"
    used, merges, records, time = 0, False, 0, 0
    with open_trace(Path(trace.path), field) as file, private_writer(target) as out:
        whole = Records(file, field)
        begins = whole.began + round(1e6 * trace.begin)
        ends = whole.began + round(1e6 * trace.end) if trace.end is not None else None
        out.write(_HEAD.pack(begins, BEGIN, len(whole.header)) + whole.header)
        for time, kind, payload in whole:
            if time < begins:
                continue
            if ends is not None and time >= ends:
                break
            try:
                done = whole.operations(kind, payload)
            except DamagedTraceError:
                break
            for what, family, _, _ in done:
                used = max(used, family + 1)
                merges = merges or what == "merge"
            out.write(_HEAD.pack(time, kind, len(payload)) + payload)
            records += 1
        out.write(_HEAD.pack(max(time, begins), END, 0))
    if not records:
        told = f" ({whole.ended})" if whole.ended else ""
        problem = f"has no record in that part{told}; change trace_from or trace_until"
        raise InputError(field, problem)
    if used > families:
        problem = f"the trace uses {used} column families; write {used} in [flags]"
        raise InputError("workload.flags.num_column_families", problem)
    if merges and not merging:
        problem = 'the trace has merges; write "put" or another built-in operator in [flags]'
        raise InputError("workload.flags.merge_operator", problem)
    return records
