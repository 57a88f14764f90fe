"""What takes its turn with the host's lock, as trials do; and a look at the conditions of runs."""

import contextlib
import math
import secrets
import shutil
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from jobs.doctor.finding import Finding, Severity, percentage
from jobs.doctor.machine_checks import judge_benchmarks, judge_disk_speed
from sampler.common.errors import InputError
from sampler.machine.disk_speed import BULK_BYTES, DiskSpeed, measure_disk
from sampler.machine.host_load import running
from sampler.runner.bench_folder import make_trial_folder, remove_trial_folder
from sampler.runner.conditions import Conditions
from sampler.runner.host_lock import host_lock
from sampler.runner.settings import Settings
from sampler.workload.metric_units import MACHINE

T = TypeVar("T")
Waiting = Callable[[str], None]


@dataclass(frozen=True)
class HostBusy:
    """Why something was left out, what to do about it, and who holds the host, if anybody."""

    why: str
    advice: str
    holder: str = ""


class _Held(Exception):
    """Somebody holds the host, and that is not waited for."""


def _give_up(_: float) -> None:
    raise _Held


def under_host_lock(
    settings: Settings, work: Callable[[], T], *, waiting: Waiting | None
) -> T | HostBusy:
    """Does some work under the host's lock; what that raises is raised.

    ``waiting`` is told who holds the host, while somebody does; None waits for nobody.
    """
    token, holders = secrets.token_hex(8), list[str]()
    tell, pause = (holders.append, _give_up) if waiting is None else (waiting, time.sleep)
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(host_lock(settings.lock, token, waiting=tell, pause=pause))
        except _Held:
            holder = holders[0] if holders else "another process"
            return HostBusy("a trial is at work here", "run this again when it is over", holder)
        except InputError as error:
            return HostBusy(error.problem, "mend that, and run this again")
        return work()


def look_for_benchmarks(settings: Settings) -> list[Finding]:
    """Sees whether somebody else measures here, without waiting for them."""
    others = running("db_bench")
    tried = under_host_lock(settings, lambda: None, waiting=None)
    if tried is not None and not tried.holder:
        advice = "set ROCKTUNE_LOCK to a file that all who measure here may open"
        return [Finding("lock", Severity.PROBLEM, tried.why, advice)]
    return judge_benchmarks(others, tried.holder if tried else None)


def look_at_disk_speed(settings: Settings, *, waiting: Waiting | None) -> list[Finding]:
    """Loads the disk for some seconds, while nobody's trial runs."""
    try:
        speed = under_host_lock(settings, lambda: _speed_of(settings.bench_dir), waiting=waiting)
    except InputError as error:
        speed = HostBusy(error.problem, "mend that, and run this again")
    except OSError as error:
        speed = HostBusy(f"{error.strerror}", "make room, or replace the disk if it is broken")
    if isinstance(speed, HostBusy):
        found = f"not measured: {speed.why}"
        return [Finding("disk speed", Severity.NOTE, found, speed.advice)]
    return judge_disk_speed(speed)


def _speed_of(bench_dir: Path) -> DiskSpeed:
    folder = make_trial_folder(bench_dir)
    try:
        most = min(BULK_BYTES, shutil.disk_usage(folder).free // 4)
        return measure_disk(folder, bulk_bytes=most)
    finally:
        remove_trial_folder(folder)


def look_at_conditions(
    settings: Settings, *, pause: Callable[[float], None] = time.sleep
) -> Finding:
    """Which conditions of a run can be read here, and how much the machine's speed scatters."""
    looks: list[dict[str, float]] = []
    try:
        folder = make_trial_folder(settings.bench_dir)
    except InputError as error:
        why = f"not read: {error.problem}"
        return Finding("conditions", Severity.NOTE, why, "see ROCKTUNE_BENCH_DIR")
    try:
        for _ in range(4):
            watching = Conditions(folder, {}, probe=settings.speed_probe)
            pause(0.5)
            looks.append(watching.end())
    finally:
        remove_trial_folder(folder)
    missing = [name for name in MACHINE if any(name not in look for look in looks)]
    if missing:
        advice = "see /proc/stat"
        if MACHINE[1] in missing:
            advice = (
                "the probe had too little time, or cannot be started: try it on an idle machine"
                if settings.speed_probe
                else "ROCKTUNE_SPEED_PROBE switches it off"
            )
        advice += "; clocks are not corrected by what is not read"
        return Finding("conditions", Severity.NOTE, f"not read: {', '.join(missing)}", advice)
    spread = statistics.stdev(math.log(look[MACHINE[1]]) for look in looks)
    found = f"{' and '.join(MACHINE)} are read; the speed scattered by {percentage(spread)}"
    return Finding("conditions", Severity.OK, found)
