"""Readings of machines that do not exist."""

from collections.abc import Mapping
from pathlib import Path

from sampler.bench.bench_folder import DiskSpeed, DiskState
from sampler.machine.host_load import CpuUse, Pressure
from sampler.machine.machine import CpuState, MemoryState


def cpu(**changes: object) -> CpuState:
    """Eight cores that do as they are told."""
    given = {"cores": 8, "governors": ("performance",), "turbo": False, "virtual": False}
    return CpuState(**{**given, "quota": None, **changes})


def use(**changes: object) -> CpuUse:
    """Nobody else at work."""
    return CpuUse(**{"others": 0.004, "own": 0.001, "stolen": 0.0, **changes})


def pressure(load: float | None = 0.1, **stalled: float) -> Pressure:
    return Pressure(load=load, stalled={"cpu": 0.0, "io": 0.0, "memory": 0.0, **stalled})


def memory(**changes: object) -> MemoryState:
    given = {"available_bytes": 2**34, "swap_used_bytes": 0, "pages_swapped": 7}
    given |= {"left_by_groups": None}
    return MemoryState(**{**given, "huge_pages": "madvise", **changes})


def disk(**changes: object) -> DiskState:
    """A large empty disk."""
    given = {"folder": Path("/bench"), "device": "/dev/nvme0n1", "kind": "xfs"}
    given |= {"free_bytes": 2**40, "rotational": False, "refusal": None, "direct": True}
    return DiskState(**{**given, **changes})


def speed(*, rate: float = 500e6, syncs: tuple[float, ...] = (0.001,) * 100) -> DiskSpeed:
    return DiskSpeed(written_bytes=2**27, write_seconds=2**27 / rate, sync_seconds=syncs)


def tree(folder: Path, files: Mapping[str, str]) -> Path:
    """A /proc or /sys of these files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder
