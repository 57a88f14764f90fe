"""Why writes stalled, and what was written for each byte that came in, in sentences."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sampler.rocksdb.figure_lines import (
    DELAYS,
    L0_FILES,
    LEVEL_SCORE,
    MEMTABLES,
    PENDING_BYTES,
    REASONS,
    STOPS,
    WRITE_BUFFER_MANAGER,
    StallLine,
    Stalls,
    added,
)
from sampler.rocksdb.opening import Opening
from sampler.rocksdb.parts import SLACK

_NO_STALL_LINE = "it has no line `Cumulative stall`, which RocksDB writes below ** DB Stats **"
# Reason -> (what happened, option that delays, option that stops, what else to look at).
_ADVICE: dict[str, tuple[str, str, str, str]] = {
    L0_FILES: (
        "files arrived in level 0 faster than compactions removed them",
        "level0_slowdown_writes_trigger",
        "level0_stop_writes_trigger",
        "max_background_jobs, max_subcompactions, write_buffer_size",
    ),
    MEMTABLES: (
        "memtables filled faster than they were flushed",
        "max_write_buffer_number",
        "max_write_buffer_number",
        "write_buffer_size, max_background_jobs",
    ),
    PENDING_BYTES: (
        "the bytes pending compaction exceeded their limit",
        "soft_pending_compaction_bytes_limit",
        "hard_pending_compaction_bytes_limit",
        "max_background_jobs, max_bytes_for_level_base, compression",
    ),
    WRITE_BUFFER_MANAGER: (
        "the memtables of all column families together reached their limit",
        "db_write_buffer_size",
        "db_write_buffer_size",
        "write_buffer_size, max_background_jobs",
    ),
    LEVEL_SCORE: (
        "a level outgrew its target size",
        "soft_rate_limit",
        "hard_rate_limit",
        "max_background_compactions",
    ),
}
REASON_WORDS = {
    L0_FILES: "too many files in level 0",
    MEMTABLES: "too many memtables",
    PENDING_BYTES: "too many bytes waiting for compaction",
    WRITE_BUFFER_MANAGER: "write buffer manager at its limit",
    LEVEL_SCORE: "a level above its target size",
}


def shown_name(family: str | None) -> str:
    """A column family's name, which may be any bytes, in letters that can be shown."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode()
        for each in str(family)
    )


def line_counts(opening: Opening) -> dict[str, dict[tuple[str, str], int]]:
    """How often the LOG says that writes are held back, by family and (reason, kind)."""
    counts: dict[str, dict[tuple[str, str], int]] = defaultdict(Counter)
    for each in opening.stall_lines:
        counts[each.family][each.reason, each.kind] += 1
    return counts


def stall_answer(opening: Opening) -> str:
    """Whether writes stalled, for how long, why, and which options to look at.

    That they did not is said by the database's own line alone: the counts are of the families that
    the file tells of, and may be cut off.
    """
    last = opening.intervals[-1]
    percent, seconds = last.cumulative_stall_percent, opening.stall_seconds
    counted = opening.stalls
    why = _by_reason(counted)
    if not percent and not seconds and not why:
        if opening.stall_lines:
            return f"No stall had ended by the last dump, but {_told(opening)}"
        if percent is None and seconds is None:
            zero = " The counts by reason in it are 0." if counted else ""
            return f"The file does not show whether writes stalled: {_NO_STALL_LINE}.{zero}"
        return "Writes did not stall."
    head = _head(percent, seconds)
    if why:
        return " ".join([head, *(_sentence(opening, reason) for reason in why)])
    if opening.stall_lines:
        return f"{head} The dumps count no reason, but {_told(opening)}"
    return (
        f"{head} The file counts no reason: the column family that caused the stall may have "
        "been dropped, or is missing from the file."
    )


def _head(percent: float | None, seconds: float | None) -> str:
    if seconds == 0 and not percent:
        return "Writes were held back, for less than RocksDB's resolution of 1 ms."
    if seconds and percent == 0:
        return f"Writes waited for {seconds:,.6g} s, less than 0.1% of the time."
    if percent is not None:
        exact = "" if seconds is None else f" ({seconds:,.6g} s)"
        return f"Writes waited for {percent:.3g}% of the time{exact}."
    if seconds is not None:
        return f"Writes waited for {seconds:,.6g} s."
    return "Writes stalled; the file does not show for how long."


def _by_reason(counts: Stalls) -> list[str]:
    """The reasons that were counted at all, the most frequent first."""
    often = {
        reason: counts.get((reason, DELAYS), 0) + counts.get((reason, STOPS), 0)
        for reason in REASONS
    }
    return sorted((each for each in often if often[each]), key=lambda each: -often[each])


def _sentence(opening: Opening, reason: str) -> str:
    counts = opening.stalls
    where = [
        shown_name(each.family)
        for each in opening.families
        if any(each.stalls.get((reason, kind)) for kind in (DELAYS, STOPS))
    ]
    happened, *_ = _ADVICE[reason]
    place = f" in {_list(where)}" if where and len(opening.families) > 1 else ""
    return (
        f"Why: {happened}{place} ({_often(counts, reason)}). "
        f"{_look_at(opening, reason, counts, where)}"
    )


def _often(counts: Stalls, reason: str) -> str:
    told = []
    for kind, one, many in ((DELAYS, "slowdown", "slowdowns"), (STOPS, "stop", "stops")):
        number = counts.get((reason, kind), 0)
        if number:
            during = counts.get((reason, f"{kind}_with_compaction"), 0)
            inner = f", {during:,} of them during a compaction of level 0" if during else ""
            told.append(f"{number:,} {one if number == 1 else many}{inner}")
    return " and ".join(told)


def _look_at(opening: Opening, reason: str, counts: Stalls, families: list[str]) -> str:
    _, delaying, stopping, more = _ADVICE[reason]
    names = [delaying] if counts.get((reason, DELAYS)) else []
    if counts.get((reason, STOPS)) and stopping not in names:
        names.append(stopping)
    told = [f"{name}{_value(opening, name, families)}" for name in names]
    return f"Look at {' and '.join(told)}, then at {more}."


def _value(opening: Opening, name: str, families: list[str]) -> str:
    """The value that the LOG's header has, if it is the same for all these families."""
    told = {opening.options.get(family, {}).get(name) for family in (*families, "")} - {None}
    return f" (now {told.pop()})" if len(told) == 1 else ""


def _told(opening: Opening) -> str:
    """What the lines of a LOG say, in place of counts."""
    counts = line_counts(opening)
    total, families = added(*counts.values()), sorted(counts)
    advice = [_look_at(opening, reason, total, families) for reason in _by_reason(total)]
    told = f"the LOG says that writes were held back: {lines_alone(opening.stall_lines)}"
    return f"{told}. {' '.join(advice)}"


def lines_alone(lines: Iterable[StallLine]) -> str:
    """What the lines of a LOG say by themselves."""
    counts = Counter((each.reason, each.kind) for each in lines)
    return _list([f"{REASON_WORDS[each]} ({_often(counts, each)})" for each in _by_reason(counts)])


def _list(words: list[str]) -> str:
    if len(words) > 4:
        return f"{', '.join(words[:3])} and {len(words) - 3} more"
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


_GIB = 2**30
_LEAST = 0.1  # GiB: below it a size that is rounded to 0.01 GiB says too little
_LEAST_RATE = 1.0  # MiB/s, rounded to 0.01
_CAME = "rocksdb.bytes.written"
_WRITTEN = ("rocksdb.flush.write.bytes", "rocksdb.compact.write.bytes")
# First version that leaves idle families out of a dump.
_PARTIAL = (7, 9)


@dataclass(frozen=True)
class Amplification:
    """Bytes that flushes and compactions wrote for each that came in; the WAL is in neither."""

    # the ratio; None if too little came in, or one of the two is not told
    value: float | None = None
    # `tickers` (exact), `dump` (sizes to 0.01 GiB) or `rates` (to 0.01 MiB/s)
    source: str | None = None


def write_amplification(opening: Opening) -> Amplification:
    """The amplification since the opening.

    Tickers are exact and of all column families, but they count since the start of the process:
    they are taken only where the bytes that came in agree with the dump's to its rounding, and no
    less was written than the dump has. While less than 0.1 GiB came in, the ratio of the two
    rates is taken, which share their clock.
    """
    last = opening.intervals[-1]
    came, written = last.ingested_gib, last.compacted_gib
    if came is None or written is None:
        return Amplification()
    exact, exact_written = _tickers(opening, _CAME), _tickers(opening, *_WRITTEN)
    if (
        exact
        and exact_written is not None
        and abs(exact - came) <= _rounding(came)
        and exact_written >= written - _rounding(written, len(opening.families))
    ):
        return Amplification(exact_written / exact, "tickers")
    if came >= _LEAST:
        return Amplification(written / came, "dump")
    in_rate, out_rate = last.cumulative_writes, last.cumulative_compaction
    if in_rate is not None and out_rate is not None and in_rate >= _LEAST_RATE:
        return Amplification(out_rate / in_rate, "rates")
    return Amplification()


def _tickers(opening: Opening, *names: str) -> float | None:
    """GiB of all these tickers together; None if one is not there."""
    found = [opening.tickers.get(name) for name in names]
    return None if None in found else sum(each or 0 for each in found) / _GIB


def _rounding(size: float, summands: int = 1) -> float:
    """GiB by which a size may differ: half of 0.01 each, and what was written meanwhile."""
    return 0.0055 * max(1, summands) + 0.001 * size


def more_by_tickers(opening: Opening) -> str | None:
    """That the dump does not tell of all column families, where the tickers show it."""
    written, exact = opening.intervals[-1].compacted_gib, _tickers(opening, *_WRITTEN)
    if write_amplification(opening).source != "tickers" or written is None or exact is None:
        return None
    if exact <= written + _rounding(written, len(opening.families)) + 0.05 * written:
        return None
    return (
        f"The tickers count {exact:.4g} GiB flushed and compacted, the last dump {written:.4g} "
        "GiB: the dump omits column families, or a compaction was running. Write amplification "
        "is from the tickers."
    )


def why_below_one(opening: Opening, amplification: Amplification) -> str | None:
    """Why less was written than came in, as far as the file tells it; None if it is not so."""
    came, written = opening.intervals[-1].ingested_gib, opening.intervals[-1].compacted_gib
    if amplification.value is None or amplification.value >= 1 or not came or written is None:
        return None
    reasons = [_unflushed(opening, came), _not_rewritten(opening, written), _untold(opening)]
    return "Write amplification is below 1: " + "; ".join(each for each in reasons if each) + "."


def _unflushed(opening: Opening, came: float) -> str:
    flushed = opening.family_total("total_flush_gib")
    if flushed is None:
        return "the file does not show how much was flushed, so the rest may be in memtables"
    if flushed == 0:
        return f"memtables hold all {came:.4g} GiB of user writes; the last dump shows no flush"
    gap = came - flushed
    if gap <= 0.005:
        return f"the {came:.4g} GiB of user writes were flushed, and nothing more was written"
    options = [opening.options.get(str(each.family), {}) for each in opening.families]
    plain = options and all(each.get("compression") == "NoCompression" for each in options)
    saved = "overwritten keys" if plain else "compression and overwritten keys"
    told = (
        f"of {came:.4g} GiB of user writes, flushes had written {flushed:.4g} GiB by the last dump"
    )
    most = _memtables(options)
    if most is not None and gap > most + 0.01:
        return (
            f"{told}, and memtables hold at most {most:.4g} GiB, so at least "
            f"{gap - most:.3g} GiB were saved by {saved}"
        )
    left = f"the other {gap:.3g} GiB ({gap / came:.0%})"
    return f"{told}; {left} were still in memtables or were saved by {saved}"


def _memtables(families: Sequence[Mapping[str, str]]) -> float | None:
    """GiB that the memtables of all families hold at most; None if a family's are not told."""
    most = 0.0
    for options in families:
        size, number = options.get("write_buffer_size"), options.get("max_write_buffer_number")
        if not (size and number and size.isdecimal() and number.isdecimal()):
            return None
        most += int(size) * int(number) / _GIB
    return most if families else None


def _not_rewritten(opening: Opening, written: float) -> str:
    flushed = opening.family_total("total_flush_gib")
    if not flushed or written - flushed > 0.02 + 0.01 * flushed:
        return ""
    sums = [row for family in opening.families for row in family.levels if row["level"] == "Sum"]
    moved = sum(found for row in sums if isinstance(found := row.get("moved_gib"), float))
    if moved > 0:
        return (
            f"no compaction rewrote anything: {moved:.4g} GiB moved to a lower level unchanged "
            "(trivial moves)"
        )
    return "no compaction had rewritten anything yet"


def _untold(opening: Opening) -> str:
    """Families that were idle since before the file begins are in no dump of it."""
    in_log = any(part.block > 0 for part in opening.families)  # db_bench asks for all
    if not in_log or opening.begin <= SLACK or not partial_dumps(opening.version):
        return ""
    return "column families idle since before the first dump in the file are not counted"


def partial_dumps(version: str | None) -> bool:
    """Whether that version leaves idle families out of a dump; unknown ones may."""
    try:
        major, minor = (int(each) for each in (version or "").split(".")[:2])
    except ValueError:
        return True
    return (major, minor) >= _PARTIAL
