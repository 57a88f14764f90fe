"""A database made into the load that it is tuned by."""

from jobs.profile.profiled import Profiled
from sampler.profile.load import choose_load
from sampler.profile.profile import DatabaseProfile, FamilyProfile, ValueSize

OPTIONS = """[DBOptions]
[CFOptions "default"]
  write_buffer_size=4194304
  max_write_buffer_number=3
"""


def _profiled(puts: float) -> Profiled:
    family = FamilyProfile(
        name="default", key_size=16.0, value_size=ValueSize(84.0), overwrite_share=0.0,
        entries=round(puts), operations={"put": puts},
    )  # fmt: skip
    profile = DatabaseProfile(families=(family,), options=OPTIONS)
    return Profiled(profile, family, choose_load(profile, family, name="mine"))


def test_a_load_that_would_stay_in_memory_is_that_of_a_larger_database():
    short = _profiled(1e6)  # 100 MB beside three memtables of 4 MiB
    longer = short.long_enough()
    assert short.chosen.workload.loaded_bytes() < 16 * 12 * 2**20
    load = longer.chosen.workload
    assert load.loaded_bytes() >= 16 * 12 * 2**20 // load.scale
    assert longer.chosen.workload.benchmarks == short.chosen.workload.benchmarks
    assert "2.21 times as large" in longer.chosen.not_expressed[0]


def test_a_load_that_is_long_enough_stays():
    enough = _profiled(4e6)
    assert enough.long_enough() is enough
