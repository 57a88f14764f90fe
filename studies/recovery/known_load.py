"""A load of db_bench whose figures are known from its flags, whatever RocksDB's files say.

What each benchmark does is that of tools/db_bench_tool.cc (RocksDB 7.8.3 and 11.8.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler.rocksdb.parameters import Value

Rates = NDArray[np.float64]  # expected operations of each key
# Flags that a load may leave out; ``codec`` and the like are RocksDB's options and stand apart.
_USUAL: Mapping[str, Value] = {
    "key_size": 16, "compression_ratio": 0.5, "reads": 0, "deletes": 0, "batch_size": 1,
    "readwritepercent": 90, "mergereadpercent": 70, "read_random_exp_range": 0.0,
    "mix_get_ratio": 1.0, "mix_put_ratio": 0.0, "mix_seek_ratio": 0.0,
}  # fmt: skip


@dataclass(frozen=True)
class KnownLoad:
    """Benchmarks that run one after the other in one process, on a new database."""

    name: str
    benchmarks: tuple[str, ...]
    # Of the load, by db_bench's names: ``num``, ``writes`` and sizes of values at least.
    # Benchmarks that read and write do the larger of ``reads`` and ``writes``.
    flags: Mapping[str, Value]
    options: Mapping[str, Value] = field(default_factory=dict)  # of RocksDB, as flags
    traced: bool = False  # whether its last benchmark is recorded
    build: str = "default"

    def flag(self, name: str) -> Any:
        """A flag of the load, or what it is where it is left out."""
        return self.flags.get(name, _USUAL.get(name))

    @property
    def families(self) -> list[str]:
        """As db_bench calls them; the key says which one it goes to."""
        later = range(1, self.flags.get("num_column_families", 1))  # type: ignore[arg-type]
        return ["default", *(f"column_family_name_{place:06d}" for place in later)]

    @property
    def operations(self) -> Counter[str]:
        """How many of each kind the load does, of all families."""
        return sum(map(self.operations_of, self.benchmarks), Counter())

    def operations_of(self, benchmark: str) -> Counter[str]:
        """How many of each kind a benchmark does, a batch of reads being one."""
        writes, reads, deletes = map(self.flag, ("writes", "reads", "deletes"))
        both = max(reads, writes)
        gets = both * self.flag("readwritepercent") // 100
        merges = both * self.flag("mergereadpercent") // 100
        mix = {name: round(reads * self.flag(f"mix_{name}_ratio")) for name in _MIXED}
        kinds: Mapping[str, Mapping[str, int]] = {
            "fillrandom": {"put": writes},
            "filluniquerandom": {"put": writes},
            "overwrite": {"put": writes},
            "deleterandom": {"delete": deletes},
            "readrandom": {"get": reads},
            "seekrandom": {"seek": reads},
            "multireadrandom": {"multiget": reads // self.flag("batch_size")},
            "mergerandom": {"merge": both},
            "updaterandom": {"get": both, "put": both},
            "readrandomwriterandom": {"get": gets, "put": both - gets},
            "readrandommergerandom": {"merge": merges, "get": both - merges},
            "mixgraph": mix,
        }
        return Counter(kinds[benchmark])

    @property
    def value_mean(self) -> float:
        """Bytes; sizes of a uniform or normal distribution lie evenly around the middle."""
        if "value_size" in self.flags:
            return float(self.flag("value_size"))
        return float(self.flag("value_size_min") + self.flag("value_size_max")) / 2

    @property
    def overwrite_share(self) -> float | None:
        """Of all puts, those of keys that were there; None where no formula tells it.

        Of n keys w uniform draws leave n (1 - (1 - 1/n)^w) (expected), and those that
        ``filluniquerandom`` wrote before are there already.
        """
        if "mixgraph" in self.benchmarks:
            return None
        num, puts = self.flag("num"), self.operations["put"]
        unique = self.flag("writes") if "filluniquerandom" in self.benchmarks else 0
        missed = (1 - 1 / num) ** (puts - unique)
        return float(1 - (num - (num - unique) * missed) / puts)

    def skew(self) -> tuple[float | None, float | None]:
        """Share of the keys used that takes half of the last benchmark's reads, and writes."""
        last, num = self.benchmarks[-1], self.flag("num")
        done = self.operations_of(last)
        reads = done["get"] + done["seek"] + done["multiget"] * self.flag("batch_size")
        writes = done["put"] + done["merge"] + done["delete"]
        rates = [np.full(num, count / num) for count in (reads, writes)]
        exponent = self.flag("read_random_exp_range")
        if last in ("readrandom", "multireadrandom") and exponent:
            rates[0] = reads * _exponential(num, exponent)
        if last == "mixgraph":
            rates = self._mixgraph_rates()
        found = [taking_half(each) if each.any() else None for each in rates]
        return found[0], found[1]

    def _mixgraph_rates(self) -> list[Rates]:
        """Of reads and writes: a number below ``num`` is drawn that means an operation and a key.

        A power of the number seeds the draw of the key.
        """
        num, power = self.flag("num"), 1 / self.flag("key_dist_b")
        drawn, kind = np.arange(num), np.arange(num) % 1000
        get, put = (round(1000 * self.flag(f"mix_{name}_ratio")) for name in _MIXED[:2])
        writes = (kind >= get) & (kind < get + put)
        seeds = np.ceil((drawn / num / self.flag("key_dist_a")) ** power).astype(np.int64)
        # Which key a seed draws is as good as random; half of them come out negative.
        names, place = np.unique(seeds, return_inverse=True)
        keys = np.random.default_rng(1).integers(0, 2 * num, len(names))[place]
        each = self.flag("reads") / num
        return [np.bincount(keys[chosen]) * each for chosen in (~writes, writes)]


_MIXED = ("get", "put", "seek")


def _exponential(num: int, exponent: float) -> Rates:
    """The share of the reads of each key, the hottest first: e^(-exponent u) num, u even."""
    edges = np.clip(np.arange(num + 1.0), num * np.exp(-exponent), None)
    rates: Rates = np.diff(np.log(edges)) / exponent
    return rates


def taking_half(rates: Rates) -> float:
    """Share of the keys used that takes half, when each key's operations are as many as drawn."""
    counts = np.sort(np.random.default_rng(1).poisson(rates))[::-1]
    used = counts[counts > 0]
    half = np.searchsorted(np.cumsum(used), used.sum() / 2) + 1
    return float(half / len(used))


def truth_of(load: KnownLoad) -> dict[str, Any]:
    """What is true of a load; without a codec nothing in a LOG tells how values compress.

    db_bench makes pieces of 100 bytes of which the first ``compression_ratio`` are random and then
    repeat: of values no longer than that the ratio changes nothing.
    """
    ratio = load.flag("compression_ratio")
    told = load.options["compression_type"] != "none" and load.value_mean > 100 * ratio
    return {
        "key_size": load.flag("key_size"),
        "value_size": load.value_mean,
        "compression_ratio": ratio if told else None,
        "overwrite_share": load.overwrite_share,
        "mix": _shares(load.operations),
    }


def trace_truth_of(load: KnownLoad) -> dict[str, Any]:
    """The same of its trace, which holds the last benchmark."""
    done, (reads, writes) = load.operations_of(load.benchmarks[-1]), load.skew()
    return {
        "key_size": load.flag("key_size"),
        "value_size": None if writes is None else load.value_mean,
        "compression_ratio": None if writes is None else load.flag("compression_ratio"),
        "mix": _shares(done),
        "read_skew": reads,
        "write_skew": writes,
    }


def _shares(operations: Counter[str]) -> dict[str, float]:
    total = operations.total()
    return {name: count / total for name, count in operations.items() if count}
