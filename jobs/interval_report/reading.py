"""Reads a log that a user names."""

import re
from pathlib import Path

from jobs.interval_report.stall_answer import lines_alone
from sampler.common.errors import InputError
from sampler.profile.database_files import encoding_of, packed_with
from sampler.stats_dumps.opening import Opening, openings_in
from sampler.stats_dumps.parts import Contents, read_contents

MOST_BYTES = 2**30
OLDEST = "2.0"
_NONE = (
    "holds no statistics by interval; give what db_bench prints (both its outputs) with "
    "--stats_interval_seconds=1 --stats_per_interval=1, or a RocksDB LOG of a database whose "
    "stats_dump_period_sec is not 0"
)
_TOO_OLD = (
    f"holds statistics of LevelDB or of a RocksDB before {OLDEST}, which tell no uptime; the "
    f"oldest that is read is RocksDB {OLDEST}: give a LOG or an output of that version or later"
)
_RESULT = re.compile(r"^\w{1,60}\s*:\s+\d{1,12}\.\d{1,6} micros/op", re.MULTILINE)


def read_openings(path: Path) -> tuple[Opening, ...]:
    """The openings of a database that a log tells of; an InputError if it tells of none."""
    field = f"LOG {path}"
    try:
        if not path.is_file():
            raise InputError(field, "is not a file")
        if path.stat().st_size > MOST_BYTES:
            raise InputError(field, "is larger than 1 GiB; give a part of it")
        content = path.read_bytes()
    except OSError as error:
        raise InputError(field, f"cannot be read: {error.strerror}") from None
    if packed := packed_with(content):
        raise InputError(field, f"is packed with {packed}; unpack it first")
    # Names of column families may be any bytes, and must stay apart.
    text = content.decode(encoding_of(content), errors="backslashreplace")
    contents = read_contents(text)
    openings = openings_in(contents)
    if not any(opening.told for opening in openings):
        raise InputError(field, _problem(text, contents))
    return openings


def _problem(text: str, contents: Contents) -> str:
    if contents.older:
        return _TOO_OLD
    if contents.stalls:
        told = lines_alone(line for _, line in contents.stalls)
        return f"{_NONE}. Its lines alone say why writes were held back: {told}"
    if _RESULT.search(text):
        version = f" {contents.versions[-1][1]}" if contents.versions else ""
        return f"is an output of db_bench{version} that {_NONE}"
    return _NONE
