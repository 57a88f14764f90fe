"""Runs one after the other on this host, each in a folder of its own that is gone afterwards."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from jobs.autotune.asked import Asked
from jobs.autotune.outcome import Run, measure
from sampler.runner.bench_folder import (
    make_trial_folder,
    remove_leftovers,
    remove_trial_folder,
    require_space,
)
from sampler.runner.host_lock import MARK, host_lock
from sampler.runner.settings import Settings

# What compaction writes before it removes what it read: as much again, and some.
_SPACE = 3
# The comparison's rows: name of the figure, words, unit. The thesis's figures 4.4 to 4.9 have
# most of them.
ROWS: tuple[tuple[str, str, str], ...] = (
    ("writes", "writes", ""),
    ("reached", "of the planned bytes", "%"),
    ("insertion_rate", "insertion rate", "MB/s"),
    ("compaction_rate", "flushes and compactions", "MB/s"),
    ("write_amplification", "write amplification", ""),
    ("settled_write_amplification", "the same, recovered", ""),
    ("space_amplification", "space amplification", ""),
    ("level0_files", "files in level 0", ""),
    ("read_rate", "random reads, filters", "MB/s"),
    ("read_rate_without_filters", "random reads, no filters", "MB/s"),
    ("recovery_seconds", "time to recover", "s"),
    ("recovery_bytes", "written to recover", "MB"),
    ("stalled_share", "stalled", "%"),
    ("off_share", "compaction off", "%"),
    ("switched", "switched", "times"),
    ("switching_share", "switching took", "%"),
)
_FACTORS = {"MB/s": 1e-6, "MB": 1e-6, "%": 100.0}


def run_alone(
    asked: Asked,
    settings: Settings,
    *,
    told: Callable[[str], None] = lambda _: None,
    pause: Callable[[float], None] = time.sleep,
) -> Run:
    """Measures while nothing else measures on this host.

    Within a trial, as the command of a ``[command]`` workload, the host is held already.

    Raises:
        InputError: The machine cannot run it: no binding, no room on the disk, no right to write.
    """
    with _host(settings, told, pause), _folder(settings, asked) as folder:
        return measure(asked, folder, told=told)


@contextlib.contextmanager
def _host(
    settings: Settings, told: Callable[[str], None], pause: Callable[[float], None]
) -> Iterator[None]:
    if MARK in os.environ:
        yield
        return
    waiting = {"said": ""}

    def wait(holder: str) -> None:
        if waiting["said"] != holder:
            waiting["said"] = holder
            told(f"waiting: {holder} uses this host")

    with host_lock(settings.lock, secrets.token_hex(8), waiting=wait, pause=pause):
        yield


@contextlib.contextmanager
def _folder(settings: Settings, asked: Asked) -> Iterator[Path]:
    remove_leftovers(settings.bench_dir)
    require_space(settings.bench_dir, int(asked.shape.planned_bytes * _SPACE) + 2**26)
    folder = make_trial_folder(settings.bench_dir)
    try:
        yield folder
    finally:
        remove_trial_folder(folder)


def table(documents: Sequence[dict[str, Any]]) -> list[list[str]]:
    """The comparison: a row for each figure, its words first, then a cell for each run."""
    return [
        [f"{words}, {unit}" if unit else words,
         *(cell(document["figures"].get(name), unit) for document in documents)]
        for name, words, unit in ROWS
    ] + [
        [f"level {number}, MiB", *(_level(document, number) for document in documents)]
        for number in _levels(documents)
    ]  # fmt: skip


def cell(value: float | None, unit: str) -> str:
    """A figure with four digits at most, or n/a."""
    if value is None:
        return "n/a"
    shown = value * _FACTORS.get(unit, 1.0)
    return f"{shown:,.0f}" if abs(shown) >= 1000 else f"{shown:.3g}"


def _levels(documents: Sequence[dict[str, Any]]) -> list[int]:
    filled = {
        level["number"] for document in documents for level in document["levels"] if level["files"]
    }
    return sorted(filled)


def _level(document: dict[str, Any], number: int) -> str:
    found = next((each for each in document["levels"] if each["number"] == number), None)
    return "n/a" if found is None else f"{found['mib']:,} ({found['files']:,} files)"
