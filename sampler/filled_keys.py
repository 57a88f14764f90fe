"""How many distinct keys several fills of one key space leave behind."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sampler.parameter import Value

# What db_bench's benchmarks do with `num` operations per thread (db_bench_tool.cc, 7.8.3):
# the distinct keys that they leave behind, of a key space of `num`.
SEQUENTIAL_FILLS = frozenset({"fillseq", "fillbatch", "filluniquerandom"})
RANDOM_WRITES = frozenset({"fillrandom", "overwrite", "updaterandom"})
MIXED = "readrandomwriterandom"
WRITES = SEQUENTIAL_FILLS | RANDOM_WRITES | {MIXED}
# Their loops are counted by `readwrites_`, those of all other writers by `writes_`.
_READ_AND_WRITE = frozenset({"updaterandom", MIXED})
_BATCH = 1000  # keys of one write of fillbatch; a last, smaller one is left out


def operations_of(benchmark: str, num: int, flags: Mapping[str, Value]) -> int:
    """Operations of each thread of a benchmark that writes.

    Args:
        benchmark: Its name in db_bench.
        num: Size of the key space, which stands in where no flag says how many.
        flags: Further flags: ``writes``, and ``reads`` of those that read and write in turn.
    """
    writes, reads = (int(flags.get(name, -1)) for name in ("writes", "reads"))
    if benchmark in _READ_AND_WRITE:
        return num if writes < 0 and reads < 0 else max(writes, reads)
    operations = writes if writes > 0 else num
    return operations // _BATCH * _BATCH if benchmark == "fillbatch" else operations


@dataclass(frozen=True)
class Fill:
    """Writes to the keys 0 to ``keys`` - 1.

    Attributes:
        keys: Size of the key space, at least 1.
        writes: Drawn uniformly, with replacement.
        whole: Whether every key was written once besides.
    """

    keys: int
    writes: float
    whole: bool = False

    @property
    def log_absent(self) -> float:
        """Logarithm of the chance that one of its keys was not written."""
        if self.whole or (self.keys == 1 and self.writes >= 1):
            return -math.inf
        return self.writes * math.log1p(-1 / self.keys) if self.keys > 1 else 0.0


def distinct_keys(fills: Sequence[Fill]) -> float:
    """Expected number of distinct keys, where fills of different sizes begin at the same key.

    A key is absent when no fill that reaches it wrote it: of w uniform writes to n keys none hits
    a key with probability (1 - 1/n)^w.
    """
    found, lower = 0.0, 0
    for upper in sorted({fill.keys for fill in fills}):
        absent = sum(fill.log_absent for fill in fills if fill.keys >= upper)
        found -= (upper - lower) * math.expm1(absent)
        lower = upper
    return found
