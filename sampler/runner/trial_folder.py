"""The folder of one trial: made under the bench folder, removed whatever happens."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from pathlib import Path

from sampler.common.errors import InputError
from sampler.machine.process_identity import is_alive, this_process

_NAME = re.compile(r"trial-(\d+)-(\d+)-[0-9a-f]+")


def make_trial_folder(bench_dir: Path) -> Path:
    """An empty folder, named for the process that owns it.

    Raises:
        InputError: It cannot be made.
    """
    pid, started = this_process()
    folder = bench_dir / f"trial-{pid}-{started}-{secrets.token_hex(4)}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise InputError(
            "ROCKTUNE_BENCH_DIR", f"cannot make a folder in {bench_dir}: {error.strerror}"
        ) from None
    return folder


def remove_trial_folder(folder: Path) -> None:
    """Removes a trial's folder and all in it."""
    shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(bench_dir: Path) -> int:
    """Removes the folders of controllers that are dead; returns how many there were.

    Raises:
        InputError: The bench folder may not be looked into.
    """
    try:
        folders = list(bench_dir.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError as error:
        problem = f"cannot look into {bench_dir}: {error.strerror}"
        raise InputError("ROCKTUNE_BENCH_DIR", problem) from None
    removed = 0
    for folder in folders:
        owner = _NAME.fullmatch(folder.name)
        if owner and not is_alive(int(owner.group(1)), int(owner.group(2))):
            remove_trial_folder(folder)
            removed += 1
    return removed


def nearest_folder(bench_dir: Path) -> Path:
    """The bench folder, or the nearest one above it that is there and may be seen."""
    # Unlike Path.exists() this bears a folder that may not be looked into, and any name.
    return next(p for p in (bench_dir, *bench_dir.absolute().parents) if os.access(p, os.F_OK))


def require_space(bench_dir: Path, needed_bytes: int) -> None:
    """Refuses to start where the disk is too full.

    Raises:
        InputError: Less than ``needed_bytes`` are free.
    """
    free = shutil.disk_usage(nearest_folder(bench_dir)).free
    if free < needed_bytes:
        raise InputError(
            "ROCKTUNE_BENCH_DIR",
            f"the disk of {bench_dir} has {free / 2**20:,.0f} MiB free and a trial needs "
            f"{needed_bytes / 2**20:,.0f}; make room or choose another folder",
        )
