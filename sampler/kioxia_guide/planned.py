"""The database that is planned, and the machine it shall run on: what the guide asks for."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from sampler.common.byte_size import parse_bytes
from sampler.common.errors import InputError, noting, refuse_noted

OPEN_FILES = 80_000
# Of a value in the tree: a pointer into the value files, and what RocksDB adds to a key. BlobDB's
# is about as long: 8 bytes of sequence number and type, and 5 to 20 of file, offset and size.
POINTER_BYTES = 20
_MOST_KEYS = 10**15
_MOST_BYTES = 2**50
_MOST_THREADS = 4096
_MOST_FILES = 10**9


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A database and its machine.

    Attributes:
        keys: Pairs of key and value that it will hold.
        key_size, value_size: Bytes of each, without what RocksDB adds.
        cpu_threads: Hardware threads, two a core where the cores have two.
        memory: Bytes that memtables and block cache may take together, as a rule all there is.
        open_files: Files that may be open at once: half hold keys, half values.
    """

    keys: int
    key_size: int
    value_size: int
    cpu_threads: int
    memory: int
    open_files: int = OPEN_FILES

    @property
    def key_bytes(self) -> int:
        """Bytes of a key in the tree, with the pointer to its value."""
        return self.key_size + POINTER_BYTES


def read_planned(
    *,
    keys: str,
    key_size: str,
    value_size: str,
    cpu_threads: str,
    memory: str,
    open_files: str = str(OPEN_FILES),
) -> Planned:
    """What was typed or sent, as numbers.

    Args:
        keys: A whole number, also as ``8e9``.
        key_size: Bytes, as ``20`` or ``1KiB``.
        value_size: Likewise.
        cpu_threads: A whole number.
        memory: Bytes, as ``128GB``.
        open_files: A whole number, also as ``8e4``.

    Raises:
        InputError: One is not what it should be, or out of range.
        InputErrors: Several are.
    """
    found: list[InputError] = []
    read: dict[str, int] = {}
    counts = (
        ("keys", keys, 1, _MOST_KEYS),
        ("cpu_threads", cpu_threads, 1, _MOST_THREADS),
        ("open_files", open_files, 2, _MOST_FILES),
    )
    for name, text, least, most in counts:
        with noting(found):
            read[name] = _count(text, _option(name), least, most)
    for name, text in (("key_size", key_size), ("value_size", value_size), ("memory", memory)):
        with noting(found):
            read[name] = _bytes(text, _option(name))
    refuse_noted(found)
    return Planned(**read)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _count(text: str, field: str, least: int, most: int) -> int:
    try:
        number = Decimal(text.strip())
        # Compared before it is made whole: 1e999999 would take for ever.
        whole = number.is_finite() and number.adjusted() < 30 and number == int(number)
    except InvalidOperation:
        whole = False
    if not whole:
        raise InputError(field, f"{text!r:.40} is not a whole number; write it like 48 or 8e9")
    if not least <= number <= most:
        raise InputError(field, f"{text} is not from {least} to {most:,}")
    return int(number)


def _bytes(text: str, field: str) -> int:
    size = parse_bytes(text[:40], field=field)
    if not 1 <= size <= _MOST_BYTES:
        raise InputError(field, f"{text:.40} is not from 1 byte to 1024 TiB")
    return size
