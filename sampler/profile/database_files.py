"""The files that a profile is read from: the LOGs of a database by time, and its OPTIONS file.

They are only read. In a folder nothing is followed out of it, and no file of another kind (a pipe,
a device) is waited for. RocksDB holds no lock on them that would keep a reader out.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator
from io import TextIOWrapper
from pathlib import Path

from sampler.common.errors import InputError
from sampler.rocksdb.options_file import DB, parse_options

_OLD_LOG = re.compile(r"LOG\.old\.(\d{1,20})")
_OPTIONS = re.compile(r"OPTIONS-(\d{1,12})")
_COPIED_OPTIONS = ("OPTIONS", "OPTIONS.ini")
_MOST_OPTIONS_BYTES = 16 * 2**20
_LONGEST_LINE = 2**20  # characters; no line of RocksDB's is longer
# What a rotated log is packed with, by its first bytes.
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
}


def packed_with(first: bytes) -> str | None:
    """The program that packed a file that begins with these bytes; None if none is known."""
    return next((name for mark, name in _PACKED.items() if first.startswith(mark)), None)


def encoding_of(first: bytes) -> str:
    """UTF-16 where a file's mark says so, as a Windows shell writes outputs; UTF-8 else."""
    return "utf-16" if first[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def find_files(path: Path, told: Callable[[str], None]) -> tuple[list[Path], str | None]:
    """The LOGs of a database's folder, the oldest first, or a LOG alone; and its OPTIONS.

    There is at least one LOG. The text is that of the newest OPTIONS file that can be read;
    ``told`` is given a line on each that is passed over.

    Raises:
        InputError: There is nothing there, it cannot be listed, or it holds no LOG.
    """
    field = f"database {path}"
    try:
        if not path.exists():
            raise InputError(field, "does not exist; give a database folder or its LOG")
        if not path.is_dir():
            options = newest_options_text(path.parent, told) if path.name == "LOG" else None
            return [path.resolve()], options
        logs = logs_in(path)
    except OSError as error:
        raise InputError(field, f"cannot be read: {error.strerror}") from None
    if not logs:
        raise InputError(
            field,
            "has no LOG, so it is not a RocksDB database folder; if its OPTIONS file sets "
            "db_log_dir, give the LOG there",
        )
    return logs, newest_options_text(path, told)


def quiet_log(log: Path) -> str:
    """Why a LOG that holds its header alone tells nothing, and how to get one that does."""
    try:
        options = newest_options_text(log.parent, lambda _: None)
    except OSError:
        options = None
    level = parse_options(options).get(DB, "info_log_level") if options else None
    said = f" = {level} in the OPTIONS file beside it" if level else ""
    return (
        f"holds its header but no event and no dump, whatever stats_dump_period_sec is: "
        f"info_log_level{said} is above INFO_LEVEL; open the database with "
        "info_log_level=INFO_LEVEL, run the load, and give the LOG"
    )


def logs_in(folder: Path) -> list[Path]:
    """The LOGs of a database's folder, the oldest first."""
    names = [each.name for each in folder.iterdir()]
    old = sorted((int(found[1]), name) for name in names if (found := _OLD_LOG.fullmatch(name)))
    return [folder / name for _, name in old] + [folder / name for name in names if name == "LOG"]


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a LOG with their breaks; a longer one than RocksDB writes comes in pieces.

    Names of column families may be any bytes and stay apart.

    Raises:
        InputError: The file cannot be read, is none, or is packed.
    """
    field = f"LOG {path}"
    try:
        with open(_opened(path, field), "rb") as file:
            first = file.peek(8)[:8]
            if packed := packed_with(first):
                raise InputError(field, f"is compressed with {packed}; decompress it first")
            text = TextIOWrapper(
                file, encoding=encoding_of(first), errors="backslashreplace", newline="\n"
            )
            while line := text.readline(_LONGEST_LINE):
                yield line
    except OSError as error:
        raise InputError(field, f"cannot be read: {error.strerror}") from None


def _opened(path: Path, field: str) -> int:
    """A descriptor of a regular file; what a link leads to is not opened."""
    if path.is_symlink():
        raise InputError(field, f"is a symbolic link to {path.readlink()}; give that file")
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InputError(field, "is not a file")
    return handle


def is_regular(path: Path) -> bool:
    """Whether it is a file that may be read: none that a link leads to, no pipe, no device."""
    try:
        os.close(_opened(path, ""))
    except (InputError, OSError):
        return False
    return True


def newest_options_text(folder: Path, told: Callable[[str], None]) -> str | None:
    """The text of the newest OPTIONS file of a folder that can be read; None where there is none.

    ``told`` is given a line on each that is passed over, such as a link or a pipe.

    Raises:
        OSError: The folder may not be listed.
    """
    names = [each.name for each in folder.iterdir()]
    numbered = sorted((int(f[1]), n) for n in names if (f := _OPTIONS.fullmatch(n)))
    newest_first = [name for _, name in reversed(numbered)]
    for name in (*newest_first, *(name for name in _COPIED_OPTIONS if name in names)):
        try:
            with open(_opened(folder / name, name), "rb") as file:  # its line ends are kept
                text = file.read(_MOST_OPTIONS_BYTES).decode("utf-8", errors="replace")
            parse_options(text, name=name)
        except InputError as error:
            told(f"{error}; trying an older OPTIONS file")
        except OSError as error:
            told(f"{name} cannot be read: {error.strerror}; trying an older OPTIONS file")
        else:
            return text
    return None
