"""How many writes of keys met a key that was there, from the entries that a tree still holds.

Writes are taken to be drawn uniformly from a space of N keys. N is unknown, but two things hold:
so many writes leave N(1-exp(-writes/N)) distinct keys, and those are what the sorted runs of the
tree hold together, where each run is a random part of the N keys. The N that makes both the same
is found. Keys that are written in order, or each once, leave no two entries of a key: as long as
RocksDB has dropped none, every write was of a new key.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.optimize import brentq


@dataclass(frozen=True)
class Writes:
    """Some writes of a family, in the order of the history."""

    puts: int  # and merges
    deletes: int
    counts: bool = True  # whether the share is asked of these


@dataclass(frozen=True)
class Run:
    """A sorted run: a table of level 0, or a whole level below."""

    entries: int
    deletions: int


@dataclass(frozen=True)
class Overwrites:
    """What came out."""

    # Of the puts that count, those of keys that were there, 0 to 1; None where no put counts.
    share: float | None
    live_keys: float


def overwrites(history: Sequence[Writes], runs: Sequence[Run], new: int) -> Overwrites:
    """The share of overwriting puts, and the live keys at the end.

    Args:
        history: All writes that were flushed, from an empty database on.
        runs: What the tree holds at its end, the newest first.
        new: Writes at the beginning of ``history`` up to the first entry that was dropped, or the
            first delete; each is of a new key.
    """
    puts = sum(each.puts for each in history)
    held = sum(run.entries - run.deletions for run in runs)
    if held >= puts:
        counted = any(each.puts for each in history if each.counts)
        return Overwrites(0.0 if counted else None, float(held))
    least = max(1.0, float(new), *(float(run.entries) for run in runs))
    most = max(2.0 * least, float(puts) * sum(each.puts + each.deletes for each in history))

    def excess(log_keys: float) -> float:
        keys = math.exp(log_keys)
        return _held_keys(runs, keys) - _written(history, keys, new)[1]

    low, high = math.log(least), math.log(most)
    if excess(low) <= 0:  # what was written first is the whole space
        keys = least
    elif excess(high) >= 0:
        keys = most
    else:
        keys = math.exp(brentq(excess, low, high, xtol=1e-9))
    share, live = _written(history, keys, new)
    return Overwrites(share, live)


def _held_keys(runs: Sequence[Run], keys: float) -> float:
    """Live keys of the runs, each a random part of so many keys; a newer entry hides an older."""
    found, unhidden = 0.0, 1.0
    for run in runs:
        found += unhidden * (run.entries - run.deletions)
        unhidden *= 1 - min(1.0, run.entries / keys)
    return found


def _written(history: Sequence[Writes], keys: float, new: int) -> tuple[float | None, float]:
    """The share of overwriting puts and the live keys that writes to so many keys leave.

    Of a write that is a put with probability f, dx = (f - x) dn / keys changes the share x of keys
    that live.
    """
    live, over, counted = 0.0, 0.0, 0
    for each in history:
        counted += each.puts if each.counts else 0
        first = min(new, each.puts)
        new, live = new - first, min(keys, live + first)
        writes = each.puts - first + each.deletes
        if not writes:
            continue
        settled = keys * (each.puts - first) / writes
        gone = -math.expm1(-writes / keys)
        mean = settled + (live - settled) * gone * keys / writes
        live += (settled - live) * gone
        over += (each.puts - first) * mean / keys if each.counts else 0.0
    return (over / counted if counted else None), live
