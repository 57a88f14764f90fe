"""Conditions of a run: what else the machine did meanwhile, and how fast it was.

They are no results, and nothing is judged by them: they tell why a clock was fast or slow.
"""

import contextlib
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile

from sampler.machine import speed_probe
from sampler.machine.host_load import others_share, read_moment
from sampler.runner.process import tied
from sampler.workload.metric_units import MACHINE

_END_SECONDS = 2.0  # the probe ends within 20 ms of being told


class Conditions:
    """Looks on from its making to its end. Whatever fails, a reading is left out, no run is.

    The probe ends with its standard input, and so with who started it. It is tied to the thread,
    too, for another process may hold that pipe open.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str], *, probe: bool) -> None:
        """Begins to look on; ``probe``: whether the speed is measured, writing to ``folder``."""
        self._probe: subprocess.Popen[str] | None = None
        with contextlib.suppress(OSError), TemporaryFile(dir=folder) as file:
            if probe:
                self._probe = subprocess.Popen(
                    tied(sys.executable, "-I", "-S", speed_probe.__file__, str(file.fileno())),
                    env=environment, text=True, start_new_session=True, pass_fds=(file.fileno(),),
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                )  # fmt: skip
        self._first = read_moment()

    def end(self, cpu_seconds: float = 0.0) -> dict[str, float]:
        """The readings by metric, as far as they are known; call it once.

        ``cpu_seconds`` were used by the process that was measured.
        """
        last = read_moment()
        speed: list[float] = []
        with contextlib.suppress(ValueError):
            *speed, own = map(float, self._told().split())
            cpu_seconds += own
        others = others_share(self._first, last, cpu_seconds)
        found = dict(zip(MACHINE, (others, *speed), strict=False))
        return {name: value for name, value in found.items() if value is not None}

    def _told(self) -> str:
        """What the probe says, which is no more."""
        if self._probe is None:
            return ""
        with self._probe as probe, contextlib.suppress(OSError, subprocess.TimeoutExpired):
            try:
                return probe.communicate(timeout=_END_SECONDS)[0]
            finally:
                probe.kill()
        return ""
