"""Why writes stalled, in sentences: the reasons that a file counts, the options behind them."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from sampler.stats_dumps.opening import Opening
from sampler.stats_dumps.stall_reasons import (
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

# Reason -> (what happened, option that delays, option that stops, what else to look at).
_ADVICE: dict[str, tuple[str, str, str, str]] = {
    L0_FILES: (
        "level 0 gathered files faster than compactions took them out of it",
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
        "compactions were behind by more bytes than allowed",
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
    """Whether writes stalled, for how long, why, and which options to look at."""
    last = opening.intervals[-1]
    percent, seconds = last.cumulative_stall_percent, opening.stall_seconds
    counted = opening.stalls
    why = _by_reason(counted)
    if not percent and not seconds and not why:
        if opening.stall_lines:
            return f"No stall had ended by the last dump, but {_told(opening)}"
        if percent is None and seconds is None and not counted:
            return "The file does not tell whether writes stalled."
        return "Writes did not stall."
    head = _head(percent, seconds)
    if why:
        return " ".join([head, *(_sentence(opening, reason) for reason in why)])
    if opening.stall_lines:
        return f"{head} The dumps count no reason, but {_told(opening)}"
    return (
        f"{head} The file counts no reason for it: the column family that caused it may have been "
        "dropped, or is not told here."
    )


def _head(percent: float | None, seconds: float | None) -> str:
    if seconds == 0 and not percent:
        return "Writes were held back, for no time that RocksDB's milliseconds show."
    if seconds and percent == 0:
        return f"Writes waited for {seconds:,.6g} s, less than 0.1% of the time."
    if percent is not None:
        exact = "" if seconds is None else f" ({seconds:,.6g} s)"
        return f"Writes waited for {percent:.3g}% of the time{exact}."
    if seconds is not None:
        return f"Writes waited for {seconds:,.6g} s."
    return "Writes stalled; the file does not tell for how long."


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
