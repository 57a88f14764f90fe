"""How compressible values are, from the bytes of the tables that hold them.

A table's data is compressed in blocks of keys, values and framing. Blocks are made here as RocksDB
lays them out (table/block_based/block_builder.cc) with db_bench's keys and values, and compressed
by the same codec; the ``compression_ratio`` of db_bench whose blocks come out as large as the
table's is the answer. So what keys, framing and the codec itself contribute is taken out.
"""

import struct
import zlib
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_PIECE = 100  # bytes; db_bench strings values together of pieces that are compressible each
_SOURCE_BYTES = 1_048_600
_BLOCKS, _LEAST_BYTES = 24, 2**17
_RESTART_INTERVAL, _TRAILER_BYTES = 16, 5
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
    """The ratio that makes blocks of that size; None where the codec is unknown or none is.

    Where a codec saves less than an eighth RocksDB stores the block as it is, so values of which
    nothing is saved all look the same: they count as incompressible.
    """
    compressed = _codec(packed.codec)
    if compressed is None or packed.value_size < 1 or packed.per_block <= 0:
        return None
    random = np.random.default_rng(_SEED)
    pieces = random.integers(32, 127, size=(_SOURCE_BYTES // _PIECE, _PIECE), dtype=np.uint8)

    def size(raw: int) -> float:
        repeated = np.tile(pieces[:, :raw], (1, -(-_PIECE // raw)))[:, :_PIECE]
        return _per_entry(packed, compressed, repeated.tobytes())

    steps = range(1, _PIECE + 1)
    if size(_PIECE) <= packed.packed * (1 + _NEAR):
        as_well = (size(raw) >= packed.packed * (1 - _NEAR) for raw in _OFTEN)
        return Ratio(1.0, sure=not any(as_well))
    above = bisect_left(steps, packed.packed, key=size)  # the steps below it make smaller blocks
    if above == 0:
        return Ratio(1 / _PIECE, sure=True)
    low, high = size(above), size(above + 1)
    return Ratio((above + (packed.packed - low) / (high - low)) / _PIECE, sure=True)


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
        return lambda block: _deflated(block) + len(_varint(len(block)))
    if name not in _CODECS:
        return None
    import pyarrow as pa  # 0.3 s, which only databases with compressed tables pay

    codec = pa.Codec(_CODECS[name], _ZSTD_LEVEL if name.startswith("ZSTD") else None)
    return lambda block: (
        len(codec.compress(block, asbytes=True))
        + (0 if name == "Snappy" else len(_varint(len(block))))
    )


def _deflated(block: bytes) -> int:
    packer = zlib.compressobj(_ZLIB_LEVEL, zlib.DEFLATED, -14)
    return len(packer.compress(block)) + len(packer.flush())
