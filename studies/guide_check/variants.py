"""What is measured: the guide's settings, one of them at half and at double, and the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sampler.kioxia_guide.for_workload import guide_values
from sampler.parameters.parameter import Value
from sampler.workload.workload import Workload

DEFAULT, CALCULATED, AS_THERE = "default", "calculated", "calculated for 48 threads"
THREADS_THERE = 48
# By what is varied: the options that go with it. Level 1 always holds eight files.
VARIED: Mapping[str, tuple[str, ...]] = {
    "max_background_jobs": ("max_background_jobs",),
    "max_write_buffer_number": ("max_write_buffer_number",),
    "target_file_size_base": ("target_file_size_base", "max_bytes_for_level_base"),
    "write_buffer_size": ("write_buffer_size",),
}
# column_family.cc, SanitizeOptions, and the fewest jobs that are any: half is no less.
_LEAST = {"max_write_buffer_number": 2, "max_background_jobs": 1}


@dataclass(frozen=True)
class Variant:
    """A configuration to measure.

    Attributes:
        name: Unique.
        setting: What differs from the calculated settings; empty where it is not one of them.
        configuration: By parameter, full scale; what it does not name is the library's default.
    """

    name: str
    setting: str
    configuration: Mapping[str, Value]


def variants(workload: Workload, *, cpu_threads: int) -> list[Variant]:
    """The defaults, the guide's settings, and those with one at half and at double.

    Half of the fewest that RocksDB takes is left out.

    Args:
        workload: The guide's T2 or T5.
        cpu_threads: Of this machine.
    """
    calculated = _guided(workload, cpu_threads)
    found = [Variant(DEFAULT, "", {}), Variant(CALCULATED, "", calculated)]
    if cpu_threads != THREADS_THERE:
        found.append(Variant(AS_THERE, "", _guided(workload, THREADS_THERE)))
    for setting, options in VARIED.items():
        for factor, said in ((0.5, "half"), (2.0, "double")):
            moved = {n: max(_LEAST.get(n, 1), int(int(calculated[n]) * factor)) for n in options}
            if any(moved[name] != calculated[name] for name in options):
                varied = {**calculated, **moved}
                found.append(Variant(f"{said} {setting}", setting, varied))
    return found


def _guided(workload: Workload, threads: int) -> dict[str, Value]:
    return guide_values(workload, cpu_threads=threads, memory=None, separating=True)
