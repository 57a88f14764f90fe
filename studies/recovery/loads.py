"""The twenty loads: sizes, mixes, skews, codecs, families and builds, each with its flags."""

from collections.abc import Mapping

from sampler.rocksdb.parameters import Value
from studies.recovery.known_load import KnownLoad

NEWER = "9.10.0"
_TREE: Mapping[str, Value] = {  # one of several levels of 100 to 300 MB
    "write_buffer_size": 4 << 20,
    "target_file_size_base": 4 << 20,
    "max_bytes_for_level_base": 16 << 20,
}
_OWN = {"traced", "build"}  # fields of a load, not flags


def _load(benchmarks: str, codec: str = "snappy", tree: Mapping[str, Value] = _TREE,
          **given: Value) -> KnownLoad:  # fmt: skip
    name, *run = benchmarks.split()
    flags = {key: value for key, value in given.items() if key not in _OWN}
    own = {key: given[key] for key in _OWN & given.keys()}
    options = {"compression_type": codec, **tree}
    return KnownLoad(name, tuple(run), flags, options, **own)  # type: ignore[arg-type]


LOADS = (
    _load("fill fillrandom", num=1_500_000, writes=1_500_000, value_size=100),
    _load("unique filluniquerandom", "lz4", num=400_000, writes=400_000, key_size=24,
          value_size=400, compression_ratio=0.25),
    _load("fill-twice fillrandom", "zstd", num=500_000, writes=1_000_000, key_size=32,
          value_size=256),
    _load("no-codec fillrandom", "none", num=300_000, writes=400_000, value_size=512),
    _load("overwrite fillrandom", "lz4", num=100_000, writes=500_000, value_size=400,
          compression_ratio=0.75),
    _load("large-values fillrandom", "zstd", num=60_000, writes=90_000, key_size=40,
          value_size=4096),
    _load("uniform-values fillrandom", num=400_000, writes=400_000, key_size=20,
          value_size_min=32, value_size_max=1024, value_size_distribution_type="uniform"),
    _load("normal-values fillrandom", "lz4", num=400_000, writes=450_000, key_size=48,
          value_size_min=100, value_size_max=700, value_size_distribution_type="normal",
          build=NEWER),
    _load("small-values fillrandom", num=3_000_000, writes=3_500_000, key_size=8, value_size=32),
    _load("deletes fillrandom deleterandom", "zstd", num=1_000_000, writes=1_000_000,
          deletes=250_000, value_size=150, build=NEWER),
    _load("merges fillrandom mergerandom", num=500_000, writes=500_000, key_size=64,
          value_size=200, merge_operator="put"),
    _load("reads-merges fillrandom readrandommergerandom", "lz4", num=500_000, writes=500_000,
          value_size=200, compression_ratio=0.4, mergereadpercent=60, merge_operator="put",
          build=NEWER),
    _load("updates fillrandom updaterandom", num=400_000, writes=400_000, value_size=300,
          compression_ratio=1.0),
    _load("skewed-reads fillrandom readrandom", num=800_000, writes=800_000, reads=400_000,
          value_size=200, read_random_exp_range=8.0, traced=True),
    _load("reads-writes filluniquerandom readrandomwriterandom", "lz4", num=500_000,
          writes=500_000, reads=1_000_000, value_size=256, readwritepercent=70, traced=True),
    _load("seeks-multigets filluniquerandom seekrandom multireadrandom", "zstd", num=400_000,
          writes=400_000, reads=200_000, value_size=300, batch_size=10, seek_nexts=10,
          read_random_exp_range=15.0, traced=True, build=NEWER),
    # Its own values are of the Pareto distribution: here all of it is one size.
    _load("graph fillrandom mixgraph", num=600_000, writes=600_000, reads=1_000_000, key_size=48,
          value_size=200, value_theta=200, value_k=0.0, value_sigma=0.0, iter_theta=10.0,
          iter_k=0.0, iter_sigma=0.0, mix_get_ratio=0.8, mix_put_ratio=0.15,
          mix_seek_ratio=0.05, key_dist_a=0.01, key_dist_b=0.35, traced=True),
    _load("two-families fillrandom readrandom overwrite", "zstd", num=600_000, writes=600_000,
          reads=300_000, value_size=150, num_column_families=2,
          column_family_distribution="30,70", traced=True),
    _load("four-families fillrandom mergerandom", num=800_000, writes=600_000, value_size=200,
          num_column_families=4, column_family_distribution="10,20,30,40",
          merge_operator="put", build=NEWER),
    _load("default-options fillrandom", "lz4", {}, num=500_000, writes=600_000, value_size=1000,
          build=NEWER),
    _load("unequal-values fillrandom", "lz4", num=800_000, writes=1_000_000, value_size_min=50,
          value_size_max=150, value_size_distribution_type="uniform", statistics=False),
    _load("few-flushes fillrandom deleterandom", "lz4", {"write_buffer_size": 32 << 20},
          num=400_000, writes=400_000, deletes=120_000, value_size=150),
)  # fmt: skip
# Each writes in another way; what they gain at full size is measured beside what was proven.
TRANSFERRED = ("fill", "overwrite", "reads-writes", "updates", "default-options")
