"""What is looked at under the host's lock: who else measures here, and how fast the disk is."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from jobs.doctor.disk_check import judge_disk_speed
from jobs.doctor.finding import Finding, Level
from jobs.doctor.load_check import judge_benchmarks
from sampler.cpu_use import running
from sampler.disk_speed import BULK_BYTES, DiskSpeed, measure_disk
from sampler.errors import InputError
from sampler.host_lock import host_lock
from sampler.settings import Settings
from sampler.trial_folder import make_trial_folder, remove_trial_folder


class _Held(Exception):
    """Somebody holds the host, and that is not waited for."""


def _give_up(_: float) -> None:
    raise _Held


def look_for_benchmarks(settings: Settings) -> list[Finding]:
    """Sees whether somebody else measures here, without waiting for them."""
    others, holders = running("db_bench"), list[str]()
    token = secrets.token_hex(8)
    try:
        with host_lock(settings.lock, token, waiting=holders.append, pause=_give_up):
            pass
    except _Held:
        return judge_benchmarks(others, holders[0] if holders else "another process")
    except InputError as error:
        advice = "set ROCKTUNE_LOCK to a file that all who measure here may open"
        return [Finding("lock", Level.PROBLEM, error.problem, advice)]
    return judge_benchmarks(others, None)


def look_at_disk_speed(
    settings: Settings, *, waiting: Callable[[str], None] | None
) -> list[Finding]:
    """Loads the disk for some seconds, while nobody's trial runs.

    Args:
        settings: Where.
        waiting: Told who holds the host, while somebody does; None waits for nobody.
    """
    token, tell = secrets.token_hex(8), waiting or (lambda _: None)
    pause = _give_up if waiting is None else time.sleep
    try:
        with host_lock(settings.lock, token, waiting=tell, pause=pause):
            return judge_disk_speed(_speed_of(settings.bench_dir))
    except _Held:
        why, advice = "a trial is at work here", "run this again when it is over"
    except InputError as error:
        why, advice = error.problem, "mend that, and run this again"
    except OSError as error:
        why, advice = f"{error.strerror}", "make room, or replace the disk if it is broken"
    return [Finding("disk speed", Level.NOTE, f"not measured: {why}", advice)]


def _speed_of(bench_dir: Path) -> DiskSpeed:
    folder = make_trial_folder(bench_dir)
    try:
        most = min(BULK_BYTES, shutil.disk_usage(folder).free // 4)
        return measure_disk(folder, bulk_bytes=most)
    finally:
        remove_trial_folder(folder)
