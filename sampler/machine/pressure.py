"""How long work waits for processors, disk and memory: the kernel's pressure stall information."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sampler.machine.kernel_files import PROC, line_of, text_of


@dataclass(frozen=True, kw_only=True)
class Pressure:
    """The kernel's view of crowding.

    Attributes:
        load: Tasks that run or wait, mean of the last minute; None where that is not shown.
        stalled: For ``cpu``, ``io`` and ``memory`` the share of the last ten seconds, from 0 to 1,
            in which at least one task waited for it; what the kernel does not tell is left out.
        by_session: Whether processors are shared between sessions first, and by niceness only
            within each (Documentation/scheduler/sched-design-CFS.rst, autogroup).
    """

    load: float | None
    stalled: Mapping[str, float]
    by_session: bool = False


def read_pressure(proc: Path = PROC) -> Pressure:
    """Reads ``loadavg`` and ``pressure/*`` (Documentation/accounting/psi.rst)."""
    stalled = {kind: _some(proc / "pressure" / kind) for kind in ("cpu", "io", "memory")}
    means = (text_of(proc / "loadavg") or "").split()
    return Pressure(
        load=float(means[0]) if means else None,
        stalled={kind: share for kind, share in stalled.items() if share is not None},
        by_session=line_of(proc / "sys/kernel/sched_autogroup_enabled") == "1",
    )


def _some(file: Path) -> float | None:
    # A kernel that was started with psi=0 has the file and refuses to read it.
    text = text_of(file)
    if not text:
        return None
    fields = dict(part.split("=") for part in text.splitlines()[0].split()[1:])
    return float(fields["avg10"]) / 100
