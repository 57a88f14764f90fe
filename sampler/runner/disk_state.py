"""The disk under the bench folder: its file system, its room, and what it allows."""

from __future__ import annotations

import mmap
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from sampler.common.errors import InputError
from sampler.machine.kernel_files import SYS, line_of
from sampler.machine.machine import file_system
from sampler.runner.trial_folder import make_trial_folder, nearest_folder, remove_trial_folder

_BLOCK = 4096


@dataclass(frozen=True, kw_only=True)
class DiskState:
    """What can be known of a disk without loading it.

    Attributes:
        folder: The bench folder.
        device, kind: As they are mounted: ``/dev/sda1``, ``ext4``.
        free_bytes: Left for this user.
        rotational: Whether the device has turning platters; None where nothing tells.
        refusal: Why no folder or file can be made there; None where it can.
        direct: Whether files can be written past the page cache; None where none can be made.
    """

    folder: Path
    device: str
    kind: str
    free_bytes: int
    rotational: bool | None
    refusal: str | None
    direct: bool | None


def read_disk_state(bench_dir: Path) -> DiskState:
    """Looks at the disk, making and removing a folder such as a trial's."""
    existing = nearest_folder(bench_dir)
    device, kind = file_system(bench_dir)
    refusal, direct = None, None
    try:
        folder = make_trial_folder(bench_dir)
        try:
            (folder / "file").write_bytes(bytes(_BLOCK))
            direct = _writes_direct(folder / "direct")
        finally:
            remove_trial_folder(folder)
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
    except OSError:
        return False
    try:
        with mmap.mmap(-1, _BLOCK) as aligned:
            return os.write(descriptor, aligned) == _BLOCK
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _is_rotational(folder: Path, sys: Path = SYS) -> bool | None:
    number = folder.stat().st_dev
    device = (sys / f"dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    for place in (device, device.parent):  # a partition's queue is its disk's
        if (text := line_of(place / "queue/rotational")) is not None:
            return text == "1"
    return None
