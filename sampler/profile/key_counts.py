"""How often each key of a family is read and written: counted in bounded memory.

Keys are told apart by 64 bits of their hash. Where there are too many, half of them is dropped, by
a bit of the hash, and what is left counts twice; the keys that were used most until then are all
kept. So what is estimated is neither of the hot keys alone nor without them.
"""

from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import nlargest

import numpy as np
from numpy.typing import NDArray

from sampler.profile.profile import Skew

_HOT_KEYS = 10_000
# What is known of a key is one number: whether it is there now, how often it was written, and how
# often read.
_THERE, _WRITE, _READ = 1, 2, 1 << 32
_WRITES = _READ - 1


def _uses(state: int) -> int:
    return (state >> 32) + ((state & _WRITES) >> 1)


@dataclass
class KeyCounts:
    """The keys of one family."""

    puts: float = 0.0  # of keys that are told apart, those that were dropped made up for
    overwrites: float = 0.0  # of them those of keys that were written before, and are there
    _hot: dict[bytes, int] = field(default_factory=dict)
    _rest: dict[bytes, int] = field(default_factory=dict)
    _mask: int = 0  # a key is kept whose hash has none of these bits

    @property
    def weight(self) -> int:
        """How many keys each of those that are not hot stands for."""
        return self._mask + 1

    def __len__(self) -> int:
        """Keys that are held."""
        return len(self._hot) + len(self._rest)

    def use(self, what: str, key: bytes) -> None:
        """Counts an operation of ``OPERATIONS`` on a key."""
        mark = blake2b(key, digest_size=8).digest()
        held, weight = self._rest, 1
        if self._mask:
            if mark in self._hot:
                held = self._hot
            elif self._mask & int.from_bytes(mark, "little"):
                return
            else:
                weight = self._mask + 1
        state = held.get(mark, 0)
        if what == "put":
            self.puts += weight
            if state & _THERE:
                self.overwrites += weight
            held[mark] = (state | _THERE) + _WRITE
        elif what == "merge":
            held[mark] = (state | _THERE) + _WRITE
        elif what == "delete":
            held[mark] = (state & ~_THERE) + _WRITE
        else:
            held[mark] = state + _READ

    def halve(self) -> None:
        """Drops about half of the keys; of few ones hot keys, too."""
        if not self._mask:
            most = min(_HOT_KEYS, len(self._rest) // 4)
            self._hot = _most_used(most, self._rest)
        elif len(self._rest) < len(self._hot):
            hot = _most_used(len(self._hot) // 2, self._hot)
            self._rest |= {mark: state for mark, state in self._hot.items() if mark not in hot}
            self._hot = hot
        self._mask = 2 * self._mask + 1
        kept = (mark for mark in self._rest if not self._mask & int.from_bytes(mark, "little"))
        self._rest = {mark: self._rest[mark] for mark in kept if mark not in self._hot}

    def skew(self) -> Skew:
        """The share of the keys used that takes half of the reads, and of the writes."""
        size = len(self)
        states = np.fromiter((*self._hot.values(), *self._rest.values()), np.int64, size)
        weights = np.full(size, self.weight)
        weights[: len(self._hot)] = 1
        reads, reads_per_key = _half(states >> 32, weights)
        writes, writes_per_key = _half((states & _WRITES) >> 1, weights)
        return Skew(reads, writes, reads_per_key, writes_per_key)


def _most_used(most: int, states: dict[bytes, int]) -> dict[bytes, int]:
    return dict(nlargest(most, states.items(), key=lambda each: _uses(each[1])))


def _half(
    counts: NDArray[np.int64], weights: NDArray[np.int64]
) -> tuple[float, float] | tuple[None, None]:
    """The share of the keys, the most used first, that takes half of the uses, and uses per key.

    Of uses by key, shape (keys,), and how many keys each stands for; None where there are none.
    """
    used = counts > 0
    if not used.any():
        return None, None
    counts, weights = counts[used], weights[used]
    order = np.argsort(-counts, kind="stable")
    taken = np.cumsum((counts * weights)[order])
    keys = np.cumsum(weights[order])
    share = np.interp(taken[-1] / 2, [0, *taken], [0, *keys]) / keys[-1]
    return float(share), float(taken[-1] / keys[-1])
