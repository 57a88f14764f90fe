"""A log is read, and what it tells as JSON and as rows: openings, intervals, families, levels."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jobs.interval_report import answers
from sampler.common.errors import InputError
from sampler.rocksdb.figure_lines import as_document
from sampler.rocksdb.forms import is_options_file, other_form
from sampler.rocksdb.log_reader import encoding_of, packed_with, quiet_log
from sampler.rocksdb.opening import Opening, openings_in
from sampler.rocksdb.parts import SLACK, Contents, Part, read_contents

MOST_BYTES = 2**30
OLDEST = "2.0"
_NONE = (
    "has no interval statistics; give the output of db_bench (stdout and stderr) with "
    "--stats_interval_seconds=1 --stats_per_interval=1, or the RocksDB LOG of a database whose "
    "stats_dump_period_sec is not 0"
)
_WHOLE = (
    "give the LOG, or paste a dump from ** DB Stats ** (MyRocks: from Type: DBSTATS) to its end"
)
_LINES = f"`Cumulative writes`, `Cumulative compaction` and a table by level; {_WHOLE}"
_TOO_OLD = (
    f"has statistics of LevelDB or of RocksDB before {OLDEST}, which lack the uptime; give a "
    f"LOG or an output of RocksDB {OLDEST} or later"
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
        raise InputError(field, f"is compressed with {packed}; decompress it first")
    # Names of column families may be any bytes, and must stay apart.
    text = content.decode(encoding_of(content), errors="backslashreplace")
    contents = read_contents(text)
    openings = openings_in(contents)
    if not any(opening.told for opening in openings):
        raise InputError(field, _problem(path, text, contents, openings))
    return openings


def _problem(path: Path, text: str, contents: Contents, openings: Sequence[Opening]) -> str:
    """Why a text tells nothing, and what to give instead."""
    if contents.quiet:
        return quiet_log(path)
    if openings and not contents.stalls:
        version = f" of RocksDB {openings[-1].version}" if openings[-1].version else ""
        return f"has no interval statistics but the uptime: its dumps{version} lack {_LINES}"
    if any(part.at is None for part in contents.parts) and not contents.older:
        return f"has no interval statistics: its dumps have no line `Uptime(secs)`; {_WHOLE}"
    if contents.older:
        return _TOO_OLD
    if not contents.parts and not contents.versions:
        if is_options_file(text):
            return "is an OPTIONS file; give the LOG of its database, or --baseline the file"
        if told := other_form(text):
            return told
    if contents.stalls:
        told = answers.lines_alone(line for _, line in contents.stalls)
        return f"{_NONE}. Its lines show why writes were held back: {told}"
    if _RESULT.search(text):
        version = f" {contents.versions[-1][1]}" if contents.versions else ""
        return f"is an output of db_bench{version} that {_NONE}"
    return _NONE


# Every column with its unit; MiB and GiB as RocksDB counts them, though it writes MB and GB.
_UNITS = {
    "at": "at_s",
    "seconds": "interval_s",
    "writes": "interval_writes_mib_s",
    "cumulative_writes": "cumulative_writes_mib_s",
    "ingested_gib": "cumulative_writes_gib",
    "compaction": "interval_compaction_mib_s",
    "cumulative_compaction": "cumulative_compaction_mib_s",
    "compacted_gib": "cumulative_compaction_gib",
    "compaction_read": "interval_compaction_read_mib_s",
    "cumulative_compaction_read": "cumulative_compaction_read_mib_s",
    "stall_percent": "interval_stall_percent",
    "cumulative_stall_percent": "cumulative_stall_percent",
}
_HIGHEST = {
    "writes": "writes_mib_s",
    "compaction": "compaction_mib_s",
    "stall_percent": "stall_percent",
}


def rows(openings: Sequence[Opening]) -> list[dict[str, Any]]:
    """A row for every interval with units in its names; None where nothing was told."""
    return [
        {"opening": number} | {_UNITS[name]: value for name, value in asdict(interval).items()}
        for number, opening in enumerate(openings, start=1)
        for interval in opening.intervals
    ]


Row = dict[str, Any]


def opening_document(opening: Opening) -> Row:
    """What an opening came to, and what is known by family, level and reason.

    Sums are those of its last dump; None for what was not told. Figures are as the file has them:
    see ``sampler.rocksdb.figure_lines`` for their rounding.
    """
    amplification, intervals = answers.write_amplification(opening), opening.intervals
    last = intervals[-1]
    return {
        "intervals": len(intervals),
        "seconds": last.at,
        "writes_gib": last.ingested_gib,
        "writes_mib_s": last.cumulative_writes,
        "compaction_gib": last.compacted_gib,
        "compaction_mib_s": last.cumulative_compaction,
        "stall_percent": last.cumulative_stall_percent,
        **{
            f"highest_{title}": max(
                (v for each in intervals if (v := getattr(each, name)) is not None), default=None
            )
            for name, title in _HIGHEST.items()
        },
        "write_amplification": amplification.value,
        "write_amplification_from": amplification.source,
        "rocksdb": opening.version,
        "begin_s": opening.begin,
        "stall_seconds": opening.stall_seconds,
        "stalls": as_document(opening.stalls),
        "stall_lines": {
            name: as_document(told) for name, told in answers.line_counts(opening).items()
        },
        "stall_answer": answers.stall_answer(opening),
        "notes": notes(opening),
        "database": dict(opening.database),
        "families": [_family_document(part) for part in opening.families],
        "options": {family: dict(told) for family, told in opening.options.items()},
        "tickers": dict(opening.tickers),
    }


def _family_document(part: Part) -> Row:
    return {
        "name": part.family,
        "at_s": part.at,
        "interval_s": part.seconds,
        **part.figures,
        "write_amplification": family_amplification(part),
        "stalls": as_document(part.stalls),
        "levels": part.levels,
    }


def family_amplification(part: Part) -> float | None:
    """Written by each byte that was flushed or added as a file: what RocksDB calls W-Amp.

    What came in is not counted by family. The size of 0.001 GiB counts from 0.1 GiB on.
    """
    written = part.figures.get("total_compaction_write_gib")
    flushed = float(part.figures.get("total_flush_gib", 0.0))
    flushed += float(part.figures.get("total_added_files_gib", 0.0))
    if written is None or flushed < 0.1:
        return None
    return float(written) / flushed


def notes(opening: Opening) -> list[str]:
    """What a reader must know to read the figures right."""
    told = [
        answers.why_below_one(opening, answers.write_amplification(opening)),
        answers.more_by_tickers(opening),
    ]
    last = opening.intervals[-1]
    if opening.begin > SLACK:
        told.append(
            f"The first interval in the file begins {opening.begin:,.6g} s after the opening. "
            "Totals count from the opening, the highest intervals from there."
        )
    if last.at <= SLACK:
        told.append("The only dump was written as the database was opened: all figures are 0.")
    idle = [p for p in opening.families if p.at is not None and last.at - p.at > SLACK]
    if idle:
        in_log = idle[0].block > 0  # of a dump that is whole
        why = " because they were idle" if in_log else ""
        least = f", as of {max(p.at or 0.0 for p in idle):,.6g} s: the least that was written"
        told.append(
            f"{len(idle)} of {len(opening.families)} column families are not in the last "
            f"dump{why}; their last known totals are used{'' if in_log else least}."
        )
    if any(p.own_clock and _of_table(p) for p in opening.families):
        told.append(
            "A dump ends before its line `Cumulative compaction`: what was written is read from "
            "its table by level, which rounds to 0.1 GiB."
        )
    return [each for each in told if each]


def _of_table(part: Part) -> bool:
    figures = part.figures
    return (
        "total_compaction_write_gib" in figures and "total_compaction_write_mib_s" not in figures
    )


def stats_document(log: str, openings: Sequence[Opening]) -> Row:
    """All that `rocktune stats --json` prints of the file at the path ``log``."""
    return {
        "schema": 1,
        "log": log,
        "openings": [opening_document(opening) for opening in openings],
        "intervals": rows(openings),
        "family_intervals": family_rows(openings),
    }


def family_rows(openings: Sequence[Opening]) -> list[Row]:
    """A row for each column family that a dump tells of, in the order of the file."""
    return [
        {
            "opening": number,
            "interval": index + 1,
            "family": part.family,
            "at_s": part.at,
            "interval_s": part.seconds,
            **part.figures,
            **{
                f"{reason}_{kind}": count
                for reason, kinds in as_document(part.stalls).items()
                for kind, count in kinds.items()
            },
        }
        for number, opening in enumerate(openings, start=1)
        for index, part in opening.family_parts
    ]


def level_rows(openings: Sequence[Opening]) -> list[Row]:
    """A row for each level of each column family, of the last dump that tells of it."""
    return [
        {"opening": number, "family": part.family, "at_s": part.at, **row}
        for number, opening in enumerate(openings, start=1)
        for part in opening.families
        for row in part.levels
    ]


TOTALS = {
    "rocksdb": "RocksDB",
    "intervals": "intervals",
    "seconds": "seconds",
    "writes_gib": "user writes, GiB",
    "writes_mib_s": "user writes, MiB/s",
    "compaction_gib": "flushed and compacted, GiB",
    "compaction_mib_s": "flushed and compacted, MiB/s",
    "write_amplification": "write amplification",
    "stall_percent": "stalled, %",
    "stall_seconds": "stalled, s",
    "highest_writes_mib_s": "highest interval writes, MiB/s",
    "highest_compaction_mib_s": "highest interval compaction, MiB/s",
    "highest_stall_percent": "highest interval stall, %",
}
_OFTEN_UNTOLD = ("rocksdb", "stall_seconds")
LEVEL_COLUMNS = (
    ("level", "level"),
    ("files", "files"),
    ("size", "size"),
    ("score", "score"),
    ("read_gib", "read, GiB"),
    ("write_gib", "write, GiB"),
    ("moved_gib", "moved, GiB"),
    ("write_amplification", "W-Amp"),
    ("compactions", "count"),
    ("compaction_seconds", "seconds"),
)
FAMILY_COLUMNS = (
    ("family", "column family"),
    ("total_flush_gib", "flushed, GiB"),
    ("total_compaction_write_gib", "flushed and compacted, GiB"),
    ("total_compaction_read_gib", "read, GiB"),
    ("write_amplification", "write amplification per flushed byte"),
    ("delays", "slowdowns"),
    ("stops", "stops"),
)


def totals_table(openings: Sequence[Opening]) -> list[list[str]]:
    """The totals of all openings side by side: a header, then a row for each total."""
    columns = [opening_document(opening) for opening in openings]
    numbers = range(1, len(openings) + 1)
    header = [f"opening {each}" for each in numbers] if len(openings) > 1 else [""]
    return [
        ["", *header],
        *(
            [words, *(as_text(column[name]) for column in columns)]
            for name, words in TOTALS.items()
            if name not in _OFTEN_UNTOLD or any(column[name] is not None for column in columns)
        ),
    ]


def level_table(part: Part) -> list[list[str]]:
    """The levels of a family as a table to be shown: a header, then a row for each level."""
    shown = [
        {"size": f"{row['size_mib']} MB", **row} if row.get("size_mib") is not None else row
        for row in part.levels
        if row["level"] != "Int"
    ]
    return _table(LEVEL_COLUMNS, shown)


def shows_families(opening: Opening) -> bool:
    """Whether a table of families says more than the totals do: of one, its own amplification."""
    alone = any(family_amplification(part) is not None for part in opening.families)
    whole = answers.write_amplification(opening).value
    return len(opening.families) > 1 or (whole is None and alone)


def family_table(opening: Opening) -> list[list[str]]:
    """The column families as a table to be shown, the one that wrote most first."""
    shown = []
    for part in most_written(opening):
        row: Row = {
            **part.figures,
            "family": answers.shown_name(part.family),
            "write_amplification": family_amplification(part),
        }
        for (_, kind), count in part.stalls.items():
            row[kind] = (row.get(kind) or 0) + count
        shown.append(row)
    return _table(FAMILY_COLUMNS, shown)


def most_written(opening: Opening) -> list[Part]:
    """The column families, the one that wrote most first."""
    return sorted(
        opening.families,
        key=lambda part: -float(part.figures.get("total_compaction_write_gib", 0.0)),
    )


def _table(
    columns: Sequence[tuple[str, str]], shown: Sequence[Mapping[str, Any]]
) -> list[list[str]]:
    kept = [column for column in columns if any(row.get(column[0]) is not None for row in shown)]
    return [
        [title for _, title in kept],
        *([as_text(row.get(name)) for name, _ in kept] for row in shown),
    ]


def as_text(value: float | int | str | None) -> str:
    """A figure for a person: five digits, and ``n/a`` for what was not told."""
    if value is None:
        return "n/a"
    return value if isinstance(value, str) else f"{value:,.5g}"
