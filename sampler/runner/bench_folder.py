"""The bench folder: what its disk allows, and the folder of each trial in it."""

import mmap
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sampler.common.atomic_write import make_private_folder
from sampler.common.errors import InputError
from sampler.machine.kernel_files import SYS, line_of
from sampler.machine.machine import file_system
from sampler.machine.processes import is_alive, own_process

_NAME = re.compile(r"trial-(\d+)-(\d+)-[0-9a-f]+")
_BLOCK = 4096


def make_trial_folder(bench_dir: Path) -> Path:
    """An empty folder for its owner alone, named for the process that owns it.

    Raises:
        InputError: It cannot be made.
    """
    pid, started = own_process()
    folder = bench_dir / f"trial-{pid}-{started}-{secrets.token_hex(4)}"
    try:
        make_private_folder(bench_dir, exist_ok=True)
        make_private_folder(folder)
    except OSError as error:
        problem = f"cannot make a folder in {bench_dir}: {error.strerror}"
        raise InputError("ROCKTUNE_BENCH_DIR", problem) from None
    return folder


@contextmanager
def trial_folder(bench_dir: Path) -> Iterator[Path]:
    """One that is removed in the end, with all in it; see ``make_trial_folder``."""
    folder = make_trial_folder(bench_dir)
    try:
        yield folder
    finally:
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
        problem = f"cannot list {bench_dir}: {error.strerror}"
        raise InputError("ROCKTUNE_BENCH_DIR", problem) from None
    removed = 0
    for folder in folders:
        owner = _NAME.fullmatch(folder.name)
        if owner and not is_alive(int(owner.group(1)), int(owner.group(2))):
            shutil.rmtree(folder, ignore_errors=True)
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
            f"{needed_bytes / 2**20:,.0f} MiB; free some space or choose another folder",
        )


@dataclass(frozen=True, kw_only=True)
class DiskState:
    """What can be known of a disk without loading it."""

    folder: Path  # the bench folder
    # device, kind: as they are mounted: ``/dev/sda1``, ``ext4``.
    device: str
    kind: str
    free_bytes: int  # left for this user
    rotational: bool | None  # whether the device has turning platters; None where nothing tells
    refusal: str | None  # why no folder or file can be made there; None where it can
    # Whether files can be written past the page cache; None where none can be made.
    direct: bool | None


def read_disk_state(bench_dir: Path) -> DiskState:
    """Looks at the disk, making and removing a folder such as a trial's."""
    existing = nearest_folder(bench_dir)
    device, kind = file_system(bench_dir)
    refusal, direct = None, None
    try:
        with trial_folder(bench_dir) as folder:
            (folder / "file").write_bytes(bytes(_BLOCK))
            direct = _writes_direct(folder / "direct")
    except InputError as error:
        refusal = error.problem
    except OSError as error:
        refusal = f"cannot write a file in {bench_dir}: {error.strerror}"
    return DiskState(
        folder=bench_dir,
        device=device,
        kind=kind,
        free_bytes=shutil.disk_usage(existing).free,
        rotational=_is_rotational(existing),
        refusal=refusal,
        direct=direct,
    )


def _writes_direct(file: Path) -> bool:
    """Whether one block goes past the page cache: open(2), O_DIRECT."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
        with os.fdopen(descriptor, "wb", buffering=0) as opened, mmap.mmap(-1, _BLOCK) as aligned:
            return opened.write(aligned) == _BLOCK
    except OSError:
        return False


def _is_rotational(folder: Path) -> bool | None:
    number = folder.stat().st_dev
    device = (SYS / f"dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    for place in (device, device.parent):  # a partition's queue is its disk's
        if (text := line_of(place / "queue/rotational")) is not None:
            return text == "1"
    return None
