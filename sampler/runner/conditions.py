"""Conditions of a run: what else the machine did meanwhile, and how fast it was.

They are no results: they tell why a clock was fast or slow, and clocks are corrected by them.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile

from sampler.machine import speed_probe
from sampler.machine.host_load import CpuMoment, others_demand, read_moment
from sampler.runner.process import tied
from sampler.workload.metric_table import MACHINE

_END_SECONDS = 2.0  # the probe ends within 20 ms of being told


class Conditions:
    """Looks on from its making to its end. Whatever fails, a reading is left out, no run is.

    The probe ends with its standard input, and so with who started it. It is tied to the thread,
    too, for another process may hold that pipe open.
    """

    def __init__(self, folder: Path, mark: Mapping[str, str], *, probe: bool) -> None:
        """Begins to look on, before the process is started that is measured.

        The ``probe``, unless the speed is not to be measured, writes to the folder and has the
        variables of ``mark``, by which it is found.
        """
        self._first = _moment()  # before the probe, whose waiting is nobody's
        self._probe: subprocess.Popen[str] | None = None
        # A frozen program has no interpreter: it would start itself.
        python = None if getattr(sys, "frozen", False) else sys.executable
        with contextlib.suppress(OSError), TemporaryFile(dir=folder) as file:
            if probe and python:
                self._probe = subprocess.Popen(
                    tied(python, "-I", "-S", speed_probe.__file__, str(file.fileno())),
                    # Not the benchmark's, which may preload or replace libraries.
                    env={"PATH": os.environ.get("PATH", os.defpath), **mark},
                    text=True, start_new_session=True, pass_fds=(file.fileno(),),
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                )  # fmt: skip

    def end(self, cpu_seconds: float = 0.0) -> dict[str, float]:
        """The readings by metric, as far as they are known; call it once.

        ``cpu_seconds`` were used by the process that was measured.
        """
        last = _moment()
        speed: list[float] = []
        with contextlib.suppress(ValueError):
            *speed, own = map(float, self._told().split())
            cpu_seconds += own
        others = others_demand(self._first, last, cpu_seconds) if self._first and last else None
        found = dict(zip(MACHINE, (others, *speed), strict=False))
        return {name: value for name, value in found.items() if value is not None}

    def _told(self) -> str:
        """What the probe says, which is no more."""
        if self._probe is None:
            return ""
        try:
            return self._probe.communicate(timeout=_END_SECONDS)[0]
        except (OSError, subprocess.TimeoutExpired):
            return ""
        finally:
            self._probe.kill()
            # One that waits for a broken disk cannot be killed: the trial goes on without it.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._probe.wait(_END_SECONDS)
            for pipe in (self._probe.stdin, self._probe.stdout):
                with contextlib.suppress(OSError):
                    if pipe:
                        pipe.close()


def _moment() -> CpuMoment | None:
    """The counters now; None where /proc holds something else than is known of."""
    try:
        return read_moment()
    except (OSError, ValueError, IndexError):
        return None
