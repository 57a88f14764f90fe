"""The tuning guide as a side: its settings, worked out for each workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from jobs.experiments.comparison.side import Side
from sampler.kioxia_guide.for_workload import guide_values
from sampler.kioxia_guide.guide import LEAST_BUFFERS
from sampler.parameters.catalogue import catalogue
from sampler.parameters.parameter import Value
from sampler.space.space import memtable_bytes
from sampler.workload.workload import Workload


def worked_out(side: Side, workloads: Sequence[Workload], baseline: Mapping[str, Value]) -> Side:
    """The side with the guide's settings under each workload; as it is where none is asked for.

    As a search that begins at the guide has them by default: within the memory of the baseline,
    so that it is compared with as much, and with keys and values together.

    Args:
        side: What the user wants.
        workloads: The loads, each at its scale.
        baseline: Of every known parameter, full scale: what the guide is laid over.
    """
    if side.guide_threads is None:
        return side
    # The guide is of one family; each has write buffers of its own.
    memory = memtable_bytes(baseline)
    found = {
        each.name: _settings(each, side.guide_threads, memory // each.column_families)
        for each in workloads
    }
    return replace(side, guide_threads=None, by_workload=found)


def _settings(workload: Workload, threads: int, memory: int) -> dict[str, Value]:
    """The nearest whole step of each parameter, and what the memory holds of write buffers."""
    values = {
        name: _nearest_step(name, value)
        for name, value in guide_values(
            workload, cpu_threads=threads, memory=memory, separating=False
        ).items()
    }
    step = catalogue()["write_buffer_size"].quantum
    most = memory // LEAST_BUFFERS // step * step
    size = min(int(values["write_buffer_size"]), most)
    number = min(int(values["max_write_buffer_number"]), memory // size)
    return {**values, "write_buffer_size": size, "max_write_buffer_number": number}


def _nearest_step(name: str, value: Value) -> Value:
    parameter = catalogue()[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < parameter.quantum:
        return value
    return parameter.nearest_multiple(value)
