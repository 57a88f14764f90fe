"""Traces for tests: written by hand, and recorded by db_bench."""

import re
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from sampler.bench.query_trace import BEGIN, END, GET, MULTIGET, SEEK, WRITE
from tests.support import DATA

MIXED = DATA / "traces" / "mixed.trace"
FAMILIES = DATA / "traces" / "families.trace"
START = 1_700_000_000_000_000
# A record: its time in us since the start, and operations of one kind on (family, key, value).
Done = tuple[str, int, bytes, bytes]
_TAGS = {"delete": (0, 4), "put": (1, 5), "merge": (2, 6), "delete_range": (0xF, 0xE)}


def record(time: int, kind: int, payload: bytes = b"") -> bytes:
    return struct.pack("<QBI", START + time, kind, len(payload)) + payload


def header(version: str = "0.2") -> bytes:
    text = (
        f"feedcafedeadbeef\tTrace Version: {version}\tRocksDB Version: 7.8\t"
        "Format: Timestamp OpType Payload\n"
    )
    return record(0, BEGIN, text.encode())


def number(value: int) -> bytes:
    found = bytearray()
    while value >= 128:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def text(value: bytes) -> bytes:
    return number(len(value)) + value


def batch(done: Sequence[Done]) -> bytes:
    found = struct.pack("<QI", 0, len(done))
    for what, family, key, value in done:
        plain, of_family = _TAGS[what]
        found += bytes([of_family]) + number(family) if family else bytes([plain])
        found += text(key) + (b"" if what == "delete" else text(value))
    return found


def write(time: int, *done: Done, marks: bytes = b"") -> bytes:
    """A record of a WriteBatch; ``marks`` are of the log and of transactions, before the keys."""
    whole = batch(done)
    return record(time, WRITE, struct.pack("<Q", 2) + text(whole[:12] + marks + whole[12:]))


def get(time: int, family: int, key: bytes) -> bytes:
    return record(time, GET, struct.pack("<QI", 0b1100, family) + text(key))


def seek(time: int, family: int, key: bytes, upper: bytes = b"") -> bytes:
    told = struct.pack("<QI", 0b10110000 if upper else 0b00110000, family) + text(key)
    return record(time, SEEK, told + (text(upper) if upper else b""))


def multiget(time: int, *keys: tuple[int, bytes]) -> bytes:
    families = b"".join(struct.pack("<I", family) for family, _ in keys)
    found = struct.pack("<QI", 0b11100000000, len(keys))
    found += text(families) + text(b"".join(text(key) for _, key in keys))
    return record(time, MULTIGET, found)


def whole(*records: bytes, version: str = "0.2") -> bytes:
    return header(version) + b"".join(records) + record(10**9, END)


def recorded(program: Path, folder: Path, benchmarks: str, *flags: str) -> tuple[Path, str]:
    """The trace of the last of db_bench's benchmarks, and what it printed.

    The benchmarks before it fill the database, in a process of their own.
    """
    *before, last = benchmarks.split(",")
    shared = [str(program), f"--db={folder / 'recorded'}", *flags]
    if before:
        _run([*shared, f"--benchmarks={','.join(before)}"])
        shared.append("--use_existing_db=true")
    path = folder / "trace"
    return path, _run([*shared, f"--benchmarks={last}", f"--trace_file={path}"])


def printed(output: str, name: str) -> int:
    """A count that db_bench printed, as ``put:240``."""
    found = re.search(rf"\b{name}:(\d+)", output)
    assert found, output[-300:]
    return int(found[1])


def _run(argv: list[str]) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout
