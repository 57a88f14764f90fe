"""How compressible values are, from the bytes of the tables that hold them.

A table's data is compressed in blocks of keys, values and framing. Blocks are made here as RocksDB
lays them out (table/block_based/block_builder.cc) with db_bench's keys and values, and compressed
by the same codec; the ``compression_ratio`` of db_bench whose blocks come out as large as the
table's is the answer. So what keys, framing and the codec itself contribute is taken out.
"""

import struct
import zlib
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

_PIECE = 100  # bytes; db_bench strings values together of pieces that are compressible each
_SOURCE_BYTES = 1_048_600
_BLOCKS, _LEAST_BYTES = 24, 2**17
_MOST_BYTES = 2**26  # of a block that is made; RocksDB's are a thousandth of it
_RESTART_INTERVAL, _TRAILER_BYTES = 16, 5
_BLOCK_BYTES = 4096
_SEED = 1
_NEAR = 0.01  # sizes that differ by less are the same
_OFTEN = (50, 70, 90)  # random bytes of a piece, that are tried beside incompressible ones
_ZLIB_LEVEL, _ZSTD_LEVEL = 6, 3  # what RocksDB takes for the default
# By the LOG's word, in PyArrow's. What LZ4HC makes of such values is as large as LZ4's.
_CODECS = {
    "Snappy": "snappy", "LZ4": "lz4_raw", "LZ4HC": "lz4_raw", "ZSTD": "zstd",
    "ZSTDNotFinal": "zstd",
}  # fmt: skip

Codec = Callable[[bytes], int]  # bytes that a block becomes


@dataclass(frozen=True)
class Packed:
    """What tables hold on the average of an entry, and what it became."""

    codec: str  # in the LOG's word: ``Snappy``
    key_size: float
    value_size: float
    valued: float  # share of the entries that have a value: no deletes
    per_block: float  # entries of a block
    variation: float  # standard deviation of the logarithm of value sizes; 0: they are the same
    packed: float  # bytes of compressed blocks for each entry
    spread: float  # distance of the numbers of neighbouring keys
    sequences: int  # of so many sequence numbers the entries have one each; 0: they were zeroed


@dataclass(frozen=True)
class Ratio:
    """db_bench's ``compression_ratio``; ``sure`` is false where several fit as well."""

    value: float
    sure: bool


def value_ratio(packed: Packed) -> Ratio | None:
    """The ratio that makes blocks of that size; None of an unknown codec, or no or huge blocks.

    Where a codec saves less than an eighth RocksDB stores the block as it is, so values of which
    nothing is saved all look the same: they count as incompressible.
    """
    compressed = _codec(packed.codec)
    entry = max(0.0, packed.key_size) + packed.value_size
    made = packed.per_block > 0 and entry * max(1.0, packed.per_block) <= _MOST_BYTES
    if compressed is None or packed.value_size < 1 or not made:
        return None

    def size(raw: int) -> float:
        return _per_entry(packed, compressed, _source(raw))

    if size(_PIECE) <= packed.packed * (1 + _NEAR):
        as_well = (size(raw) >= packed.packed * (1 - _NEAR) for raw in _OFTEN)
        return Ratio(1.0, sure=not any(as_well))
    return Ratio(_between_steps(size, packed.packed), sure=True)


def ratio_of_values(values: Sequence[bytes], every: int = 1) -> float | None:
    """The ratio of values themselves: that at which db_bench's compress as well; None of nothing.

    Both are compressed as LZ4 and Snappy do: repeats are replaced, and nothing else. ``values``
    are one of ``every`` that were written: db_bench takes one after the other out of its source,
    so that pieces go on from one to the next.
    """
    sizes = [len(value) for value in values if value]
    if not sizes:
        return None
    share = _lz_share(values)

    def made(raw: int) -> float:
        source = _source(raw) * (1 + max(sizes) // _SOURCE_BYTES)
        parts, at = [], 0
        for size in sizes:
            at = at if at + size <= len(source) else 0
            parts.append(source[at : at + size])
            at += every * size
        return _lz_share(parts)

    return 1.0 if share >= made(_PIECE) else _between_steps(made, share)


def _source(raw: int) -> bytes:
    """What db_bench takes values from, where so many bytes of each piece are random."""
    random = np.random.default_rng(_SEED)
    pieces = random.integers(32, 127, size=(_SOURCE_BYTES // _PIECE, _PIECE), dtype=np.uint8)
    return np.tile(pieces[:, :raw], (1, -(-_PIECE // raw)))[:, :_PIECE].tobytes()


def _between_steps(size: Callable[[int], float], wanted: float) -> float:
    """The ratio at which a size that grows with the random bytes of a piece is the wanted one."""
    above = bisect_left(range(1, _PIECE + 1), wanted, key=size)  # the steps below it are smaller
    if above == 0:
        return 1 / _PIECE
    low, high = size(above), size(above + 1)
    return (above + (wanted - low) / (high - low)) / _PIECE


def _lz_share(values: Sequence[bytes]) -> float:
    """Compressed over raw bytes of values, in blocks as tables have them."""
    raw = packed = 0
    block = b""
    for place, value in enumerate(values, 1):
        block += value
        if len(block) >= _BLOCK_BYTES or place == len(values):
            packing = zlib.compressobj(_ZLIB_LEVEL, zlib.DEFLATED, -15, 9, zlib.Z_FIXED)
            packed += len(packing.compress(block) + packing.flush())
            raw, block = raw + len(block), b""
    return packed / raw


def _per_entry(packed: Packed, compressed: Codec, source: bytes) -> float:
    """Bytes of blocks for each entry, whose values are parts of a source."""
    random = np.random.default_rng(_SEED)
    key_size, value_size = max(0, round(packed.key_size)), round(packed.value_size)
    source *= 1 + value_size // len(source)
    blocks = max(4, min(_BLOCKS, round(_LEAST_BYTES / (value_size * packed.per_block))))
    middle = -(packed.variation**2) / 2  # so that their mean is the mean
    number, total, entries = 0, 0, 0
    for block in range(blocks):
        count = max(1, round(packed.per_block * (block + 1)) - round(packed.per_block * block))
        content, before = bytearray(), b""
        for entry in range(count):
            number += 1 + int(random.exponential(max(0.0, packed.spread - 1)))
            sequence = int(random.integers(packed.sequences)) << 8 | 1 if packed.sequences else 1
            key = _key(number, key_size) + struct.pack("<Q", sequence)
            size = value_size
            if packed.variation:
                size = max(
                    1, round(value_size * float(random.lognormal(middle, packed.variation)))
                )
            at = size * int(random.integers(max(1, len(source) // size)))
            value = source[at : at + size] if random.random() < packed.valued else b""
            shared = _shared(before, key) if entry % _RESTART_INTERVAL else 0
            content += _varint(shared) + _varint(len(key) - shared) + _varint(len(value))
            content += key[shared:] + value
            before = key
        content += bytes(4 * (1 + -(-count // _RESTART_INTERVAL)))
        smaller = compressed(bytes(content))
        kept = smaller if smaller < len(content) - len(content) // 8 else len(content)
        total, entries = total + kept + _TRAILER_BYTES, entries + count
    return total / entries


def _key(number: int, size: int) -> bytes:
    """A key of db_bench's: its number, the highest byte first, then zeros (GenerateKeyFromInt)."""
    told = struct.pack(">Q", number)
    return (told + b"0" * size)[:size] if size >= len(told) else told[len(told) - size :]


def _shared(one: bytes, other: bytes) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))


def _varint(number: int) -> bytes:
    return (
        bytes((number,)) if number < 128 else bytes((number & 127 | 128,)) + _varint(number >> 7)
    )


def _codec(name: str) -> Codec | None:
    """The compressed size of a block; all but Snappy put the raw size before it."""
    if name == "Zlib":
        return lambda block: (
            len(zlib.compress(block, _ZLIB_LEVEL, wbits=-14)) + len(_varint(len(block)))
        )
    if name not in _CODECS:
        return None
    import pyarrow as pa  # 0.3 s, which only databases with compressed tables pay

    codec = pa.Codec(_CODECS[name], _ZSTD_LEVEL if name.startswith("ZSTD") else None)
    return lambda block: (
        len(codec.compress(block, asbytes=True))
        + (0 if name == "Snappy" else len(_varint(len(block))))
    )
