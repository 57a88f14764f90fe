"""How compressible values are, and what each codec makes of a live table.

A table's data is compressed in blocks of keys, values and framing. Blocks are made here as RocksDB
lays them out (table/block_based/block_builder.cc) with db_bench's keys and values, and compressed
by the same codec; the ``compression_ratio`` of db_bench whose blocks come out as large as the
table's is the answer. So what keys, framing and the codec itself contribute is taken out.

RocksDB's ``sst_dump --command=recompress`` writes a table anew in memory with each codec that it
was built with, and prints the sizes (tools/sst_dump_tool.cc, table/sst_file_dumper.cc).
"""

import re
import shutil
import struct
import subprocess
import tempfile
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sampler.profile.evidence import SILENT, TRACE, Evidence, Figures
from sampler.profile.family_events import COMPACTION, FLUSH, KEY_TRAILER, FamilyEvents, value_bytes
from sampler.profile.load_shape import WrittenSizes
from sampler.profile.log_events import LogEvents
from sampler.profile.profile import FamilyProfile, Source, Sure, ValueSize, written_in_order
from sampler.rocksdb.log_reader import is_regular

_PIECE = 100  # bytes; db_bench strings values together of pieces that are compressible each
_SOURCE_BYTES = 1_048_600
_BLOCKS, _LEAST_BYTES = 24, 2**17
_MOST_BYTES = 2**26  # of a block that is made; RocksDB's are a thousandth of it
_RESTART_INTERVAL, _TRAILER_BYTES = 16, 5
_BLOCK_BYTES = 4096
_SEED = 1
# The bytes of db_bench's random strings (CompressibleString in test_util/testutil.cc), the first
# and the one after the last. Tables of 7.8.3 have the one, those of 9.10.0 the other: an entropy
# coder, which Zlib and ZSTD have, makes 4% more of those.
PRINTABLE, BINARY = (32, 127), (0, 127)
_LAST_PRINTABLE = (7, 8)  # a database of a version between the two is measured by the newer one
_NEAR = 0.01  # sizes that differ by less are the same
_OFTEN = (50, 70, 90)  # random bytes of a piece, that are tried beside incompressible ones
_ZLIB_LEVEL, _ZSTD_LEVEL = 6, 3  # what RocksDB takes for the default
# By the LOG's word, in PyArrow's. What LZ4HC makes of such values is as large as LZ4's.
_CODECS = {
    "Snappy": "snappy", "LZ4": "lz4_raw", "LZ4HC": "lz4_raw", "ZSTD": "zstd",
    "ZSTDNotFinal": "zstd",
}  # fmt: skip

Codec = Callable[[bytes], int]  # bytes that a block becomes
_MOST_TABLE_BYTES = 16 * 2**20  # of a table that is tried: 64 MiB would take 6 s
_SECONDS = 60
_MOST_FAMILIES = 8  # half a second each
_SIZE = re.compile(r"Compression: k(\w+?)(?:Compression)?\s+.*?Size:\s*(\d{1,15}) Blocks:\s*(\d+)")
# What sst_dump calls the properties of a table, and RocksDB in its LOG.
_PROPERTY_NAMES = {
    "# entries": "num_entries", "# deletions": "num_deletions", "raw key size": "raw_key_size",
    "raw value size": "raw_value_size", "# range deletions": "num_range_deletions",
}  # fmt: skip
_PROPERTY = re.compile(rf"({'|'.join(_PROPERTY_NAMES)}): (\d{{1,18}})")
_RECOMPRESS = "profile the folder with its SST files and sst_dump on PATH (Debian's rocksdb-tools)"
_NO_CODEC = ("", "NoCompression")
_BLOB_HEADER = 32  # bytes before key and value (blob_log_format.h)
_PLACE = 10  # bytes of a blob's place in a table, about (blob_index.h)
_PLAIN, _LIKE = "No", "Snappy"  # without a codec; the one that the ratio is worked out by


@dataclass(frozen=True)
class Packed:
    """What tables hold on the average of an entry, and what it became."""

    codec: str  # in the LOG's word: ``Snappy``
    key_size: float
    value_size: float
    valued: float  # share of the entries that have a value: no deletes
    per_block: float  # entries of a block
    packed: float  # bytes of compressed blocks for each entry
    sizes: WrittenSizes | None = None  # None: each value has ``value_size``
    in_order: bool = False  # whether keys were written in order, so that values go on from it
    spread: float = 1.0  # distance of the numbers of neighbouring keys
    # Of so many sequence numbers the entries have one each; 0: they were zeroed.
    sequences: int = 0
    symbols: tuple[int, int] = PRINTABLE  # of the random bytes of values


def packed_of(codec: str, sums: Counter[str]) -> Packed:
    """What tables hold, by the sums of their properties, of which some entries have values."""
    valued = sums["num_entries"] - sums["num_deletions"]
    entries = sums["num_entries"] - sums["num_range_deletions"]  # those are in no block of data
    return Packed(
        codec=codec, key_size=sums["raw_key_size"] / sums["num_entries"] - KEY_TRAILER,
        value_size=value_bytes(sums) / valued, valued=valued / entries,
        per_block=entries / max(1, sums["num_data_blocks"]), packed=sums["data_size"] / entries,
    )  # fmt: skip


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
        return _per_entry(packed, compressed, values_source(raw, packed.symbols))

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
        source = values_source(raw) * (1 + max(sizes) // _SOURCE_BYTES)
        parts, at = [], 0
        for size in sizes:
            at = at if at + size <= len(source) else 0
            parts.append(source[at : at + size])
            at += every * size
        return _lz_share(parts)

    return 1.0 if share >= made(_PIECE) else _between_steps(made, share)


def symbols_of(version: str | None) -> tuple[int, int]:
    """Of the values that the db_bench which measures a database of this version writes."""
    numbers = [int(each) for each in (version or "").split(".")[:2] if each.isdecimal()]
    older = len(numbers) == 2 and tuple(numbers) <= _LAST_PRINTABLE
    return PRINTABLE if older else BINARY


def values_source(raw: int, symbols: tuple[int, int] = PRINTABLE) -> bytes:
    """What db_bench takes values from, where so many bytes of each piece are random."""
    random = np.random.default_rng(_SEED)
    pieces = random.integers(*symbols, size=(_SOURCE_BYTES // _PIECE, _PIECE), dtype=np.uint8)
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
    source *= 1 + (packed.sizes.high if packed.sizes else value_size) // len(source)
    blocks = max(4, min(_BLOCKS, round(_LEAST_BYTES / (value_size * packed.per_block))))
    varied = packed.sizes if packed.sizes and packed.sizes.varied else None
    number, total, entries, at = 0, 0, 0, 0
    for block in range(blocks):
        count = max(1, round(packed.per_block * (block + 1)) - round(packed.per_block * block))
        content, before = bytearray(), b""
        for entry in range(count):
            number += 1 + int(random.exponential(max(0.0, packed.spread - 1)))
            sequence = int(random.integers(packed.sequences)) << 8 | 1 if packed.sequences else 1
            key = _key(number, key_size) + struct.pack("<Q", sequence)
            size = varied.draw(random) if varied else value_size
            # db_bench takes one value after the other, so those of one size begin at multiples.
            step = 1 if varied else size
            if not packed.in_order:
                at = step * int(random.integers(max(1, (len(source) - size) // step)))
            elif at + size > len(source):
                at = 0
            value = source[at : at + size] if random.random() < packed.valued else b""
            at += size
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
    more = number >> 7
    return bytes((number & 127 | 128,)) + _varint(more) if more else bytes((number,))


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


def with_codecs(
    folder: Path, families: tuple[FamilyProfile, ...], events: LogEvents
) -> tuple[FamilyProfile, ...]:
    """The families with what each codec makes of one of their live tables.

    A ``compression_ratio`` that the LOG does not tell is worked out, too. They stay as they are
    where there are no tables, or no sst_dump that can read them.
    """
    program = shutil.which("sst_dump")
    if program is None or not folder.is_dir():
        return families
    largest = sorted(families, key=lambda each: each.flushed_bytes or 0)[-_MOST_FAMILIES:]
    return tuple(
        _with_codecs(program, folder, each, events) if each in largest else each
        for each in families
    )


def _with_codecs(
    program: str, folder: Path, family: FamilyProfile, events: LogEvents
) -> FamilyProfile:
    small = {
        number: table.size
        for number, table in events.live.items()
        if table.family == family.name and table.size <= _MOST_TABLE_BYTES
    }
    number = max(small, key=small.__getitem__, default=0)
    table = folder / f"{number:06d}.sst"
    blobs = events.of_all_openings(family.name).counts["blobs"]  # tables hold their places
    if not number or not is_regular(table) or blobs:
        return family
    printed = _printed(program, table, "--command=recompress").replace("\n", " ")
    found = {codec: (int(size), int(blocks)) for codec, size, blocks in _SIZE.findall(printed)}
    plain = found.pop(_PLAIN, (0, 0))[0]
    if not plain or not found:
        return family
    where = f"sst_dump --command=recompress on {table.name}"
    codecs = {codec: size / plain for codec, (size, _) in found.items()}
    sources = {**family.sources, "codecs": Source(where, "counted")}
    ratio = family.compression_ratio
    if ratio is None and _LIKE in found:
        ratio = _ratio(program, table, *found[_LIKE], WrittenSizes.of(family.value_size))
        if ratio is not None:
            sources["compression_ratio"] = Source(f"{where}, with Snappy", "estimated")
    return replace(family, codecs=codecs, compression_ratio=ratio, sources=sources)


def _ratio(program: str, table: Path, size: int, blocks: int, sizes: WrittenSizes) -> float | None:
    """db_bench's ratio, from the table without a codec and with Snappy."""
    told = dict(_PROPERTY.findall(_printed(program, table, "--show_properties", "--command=none")))
    sums = Counter({n: int(told.get(words, 0)) for words, n in _PROPERTY_NAMES.items()})
    if not sums["raw_value_size"]:  # not told, or nothing that compression could be seen by
        return None
    sums.update(data_size=size, num_data_blocks=blocks)
    if sums["num_entries"] <= sums["num_deletions"]:
        return None
    ratio = value_ratio(replace(packed_of(_LIKE, sums), sizes=sizes))
    return ratio.value if ratio else None


def _printed(program: str, table: Path, *arguments: str) -> str:
    with tempfile.TemporaryDirectory(prefix="rocktune-sst-") as elsewhere:
        try:
            ended = subprocess.run(
                [program, f"--file={table.absolute()}", *arguments],
                cwd=elsewhere, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                errors="replace", timeout=_SECONDS, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return ended.stdout


def compression(
    evidence: Evidence, whole: FamilyEvents, values: ValueSize, keys: Mapping[str, Any]
) -> Iterator[Figures]:
    """A family's codec and its compression ratio, of the tables or the blob files of ``whole``."""
    live, read = keys.get("entries", 0), evidence.own.counts["read"]
    in_order = written_in_order(keys.get("overwrite_share"), read, live)
    by_codec = Counter[str]()
    for (_, codec, _), sums in whole.made.items():
        by_codec[codec or evidence.codec] += sums["data_size"]
    codec = by_codec.most_common(1)[0][0] if by_codec else evidence.codec
    if codec:
        told = any(name for _, name, _ in whole.made)
        yield Figures({"codec": codec}, f"LOG: {'most of the tables' if told else 'options'}")
    if whole.counts["blobs"]:  # a table of their places tells nothing of values
        yield _compression_of_blobs(evidence, whole, values)
        return
    # Tables of flushes come first: their sequence numbers are known not to be zeroed.
    for (kind, name, valued), sums in sorted(whole.made.items(), reverse=True):
        if not valued or (name or evidence.codec) in _NO_CODEC:
            continue
        packed = replace(
            packed_of(name or evidence.codec, sums), sizes=WrittenSizes.of(values),
            symbols=symbols_of(evidence.log.version),
        )  # fmt: skip
        if kind == FLUSH:
            each = sums["num_entries"] / sums["tables"]
            spread = 1.0 if in_order else live / each
            packed = replace(packed, spread=spread, sequences=round(each), in_order=in_order)
        ratio = value_ratio(packed)
        if ratio:
            saved = "" if ratio.sure else "; nothing was saved, which fits lower ratios too"
            made = f"{sums['tables']} tables made by {kind} with {name or codec}"
            sure: Sure = "estimated" if ratio.sure else "assumed"
            yield Figures({"compression_ratio": ratio.value}, f"LOG: data of {made}{saved}", sure)
            return
    why = _RECOMPRESS if evidence.silent is None else SILENT
    yield Figures(unknown={"compression_ratio": why})


def _compression_of_blobs(evidence: Evidence, whole: FamilyEvents, values: ValueSize) -> Figures:
    """Of values that blob files hold, each compressed by itself (blob_file_builder.cc).

    Their mean is of what came in, without the smaller values that tables hold beside the places of
    the others.
    """
    total, counts = whole.summed(FLUSH, COMPACTION), whole.counts
    flushed, blobs = whole.summed(FLUSH), counts["flushed_blobs"]
    key = total["raw_key_size"] / max(1, total["num_entries"]) - KEY_TRAILER
    stored = counts["blob_bytes"] / counts["blobs"] - _BLOB_HEADER - key
    ratio = None
    if values.mean is not None and blobs and evidence.blob_codec not in _NO_CODEC:
        valued = flushed["num_entries"] - flushed["num_deletions"]
        inside = flushed["raw_value_size"] - blobs * _PLACE if valued > blobs else 0
        mean = (values.mean * valued - max(0, inside)) / blobs
        sizes = WrittenSizes.of(replace(values, mean=mean) if valued <= blobs else ValueSize(mean))
        packed = Packed(
            evidence.blob_codec, 0.0, mean, 1.0, per_block=1.0, packed=stored, sizes=sizes,
            symbols=symbols_of(evidence.log.version),
        )  # fmt: skip
        ratio = value_ratio(packed)
    if ratio is None or not ratio.sure:
        return Figures(unknown={"compression_ratio": f"blob files are not compressed: {TRACE}"})
    where = f"LOG: {counts['blobs']} blobs with {evidence.blob_codec}"
    return Figures({"compression_ratio": ratio.value}, where, "estimated")
