"""Write amplification of an opening from its most exact figures, and why it may be below 1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sampler.stats_dumps.dumps import SLACK
from sampler.stats_dumps.opening import Opening

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
    came, written = last.ingested_gb, last.compacted_gb
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
    written, exact = opening.intervals[-1].compacted_gb, _tickers(opening, *_WRITTEN)
    if write_amplification(opening).source != "tickers" or written is None or exact is None:
        return None
    if exact <= written + _rounding(written, len(opening.families)) + 0.05 * written:
        return None
    return (
        f"By the tickers {exact:.4g} GiB were flushed and compacted, by the last dump "
        f"{written:.4g} GiB: it does not tell of all column families, or a compaction was "
        "running. Write amplification is of the tickers."
    )


def why_below_one(opening: Opening, amplification: Amplification) -> str | None:
    """Why less was written than came in, as far as the file tells it; None if it is not so."""
    came, written = opening.intervals[-1].ingested_gb, opening.intervals[-1].compacted_gb
    if amplification.value is None or amplification.value >= 1 or not came or written is None:
        return None
    reasons = [_unflushed(opening, came), _not_rewritten(opening, written), _untold(opening)]
    return "Write amplification is below 1: " + "; ".join(each for each in reasons if each) + "."


def _unflushed(opening: Opening, came: float) -> str:
    flushed = opening.family_total("total_flush_gib")
    if flushed is None:
        return "the file does not tell how much was flushed, so the rest may be in memtables"
    if flushed == 0:
        return (
            f"none of {came:.4g} GiB that came in was flushed by the last dump: memtables hold it"
        )
    gap = came - flushed
    if gap <= 0.005:
        return f"the {came:.4g} GiB that came in were flushed, and nothing more was written"
    options = [opening.options.get(str(each.family), {}) for each in opening.families]
    plain = options and all(each.get("compression") == "NoCompression" for each in options)
    saved = "overwritten keys" if plain else "compression and overwritten keys"
    told = (
        f"of {came:.4g} GiB that came in, flushes had written {flushed:.4g} GiB by the last dump"
    )
    most = _memtables(options)
    if most is not None and gap > most + 0.01:
        return (
            f"{told}, and memtables hold at most {most:.4g} GiB, so at least "
            f"{gap - most:.3g} GiB were saved by {saved}"
        )
    return f"{told}; the other {gap:.3g} GiB were still in memtables or were saved by {saved}"


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
            f"no compaction rewrote anything: {moved:.4g} GiB were moved to a lower level as they "
            "were (trivial moves)"
        )
    return "no compaction had rewritten anything yet"


def _untold(opening: Opening) -> str:
    """Families that were idle since before the file begins are in no dump of it."""
    in_log = any(part.block > 0 for part in opening.families)  # db_bench asks for all
    if not in_log or opening.begin <= SLACK or not partial_dumps(opening.version):
        return ""
    return "column families that were idle since before the first dump of the file are not counted"


def partial_dumps(version: str | None) -> bool:
    """Whether that version leaves idle families out of a dump; unknown ones may."""
    try:
        major, minor = (int(each) for each in (version or "").split(".")[:2])
    except ValueError:
        return True
    return (major, minor) >= _PARTIAL
