"""Reading a database's LOG whole, however long it is, and only what came since it was last read.

RocksDB writes some 12 KB of counters into it every second of a trial, so after an hour it is
larger than should be held at once, or read again at every look beside the compactions that are
timed; and half of it would not tell which compactions are under way.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from sampler.bench.rocksdb_log import RocksdbLog, begins_a_dump, joined, parse_log

_PIECE_BYTES = 32 * 2**20
# Of a line, or a dump, that the end of a piece cuts: a longer one is none of RocksDB's.
_MOST_CUT_BYTES = 2**20


@dataclass(frozen=True)
class LogSoFar:
    """How far a LOG has been read.

    Attributes:
        inode: Of the file.
        offset: Where to go on: at the beginning of a line, and not within a dump's counters.
        log: What it told up to there.
    """

    inode: int = 0
    offset: int = 0
    log: RocksdbLog = field(default_factory=RocksdbLog)


def read_log(path: Path, *, piece_bytes: int = _PIECE_BYTES) -> RocksdbLog:
    """What a LOG tells; all unknown where there is none.

    Args:
        path: The LOG.
        piece_bytes: How much of it is held at a time.
    """
    return read_on(path, LogSoFar(), piece_bytes=piece_bytes)[0]


def read_on(
    path: Path, so_far: LogSoFar, *, piece_bytes: int = _PIECE_BYTES
) -> tuple[RocksdbLog, LogSoFar]:
    """What a LOG tells now, its last, unfinished line included, and how far it has been read.

    Args:
        path: The LOG.
        so_far: What the last call returned. Another file at this path is read from its beginning.
        piece_bytes: How much of it is held at a time.
    """
    try:
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
            if stat.st_ino != so_far.inode or stat.st_size < so_far.offset:
                so_far = LogSoFar(inode=stat.st_ino)
            file.seek(so_far.offset)
            offset, log, kept = so_far.offset, so_far.log, b""
            while read := file.read(piece_bytes):
                piece = kept + read
                end = _whole(piece)
                offset, log, kept = offset + end, joined(log, _parsed(piece[:end])), piece[end:]
    except OSError:
        return RocksdbLog(), LogSoFar()
    return joined(log, _parsed(kept)), LogSoFar(so_far.inode, offset, log)


def _whole(piece: bytes) -> int:
    """Where a piece of whole lines ends; a dump's counters stay in one."""
    dump = begins_a_dump(piece)
    end = dump if dump >= 0 else piece.rfind(b"\n") + 1
    return end if len(piece) - end <= _MOST_CUT_BYTES else len(piece)


def _parsed(text: bytes) -> RocksdbLog:
    return parse_log(text.decode("utf-8", errors="replace"))
