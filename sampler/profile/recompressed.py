"""What each codec makes of the real data: RocksDB's ``sst_dump`` on a live table, read only.

``sst_dump --command=recompress`` writes the table anew in memory with each codec that it was built
with, and prints the sizes (tools/sst_dump_tool.cc, table/sst_file_dumper.cc).
"""

import re
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from sampler.profile.compressibility import Packed, value_ratio
from sampler.profile.log_events import KEY_TRAILER, LogEvents
from sampler.profile.profile import FamilyProfile, Source

_MOST_BYTES = 16 * 2**20  # of a table: 64 MiB would take 6 s
_SECONDS = 60
_MOST_FAMILIES = 8  # half a second each
_SIZE = re.compile(r"Compression: k(\w+?)(?:Compression)?\s+.*?Size:\s*(\d{1,15}) Blocks:\s*(\d+)")
_PROPERTY = re.compile(r"(# entries|# deletions|raw key size|raw value size): (\d{1,18})")
_PLAIN, _LIKE = "No", "Snappy"  # without a codec; the one that the ratio is worked out by


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
    sizes = {
        number: table.size for number, table in events.live.items() if table.family == family.name
    }
    small = {number: size for number, size in sizes.items() if size <= _MOST_BYTES}
    number = max(small, key=lambda each: small[each], default=0)
    table = folder / f"{number:06d}.sst"
    if not number or not table.is_file():
        return family
    printed = _printed(program, table, "--command=recompress").replace("\n", " ")
    found = {codec: (int(size), int(blocks)) for codec, size, blocks in _SIZE.findall(printed)}
    plain = found.pop(_PLAIN, (0, 0))[0]
    if not plain or not found:
        return family
    where = f"sst_dump --command=recompress on {table.name}"
    codecs = {codec: size / plain for codec, (size, _) in found.items()}
    more = replace(
        family, codecs=codecs, sources={**family.sources, "codecs": Source(where, "counted")}
    )
    if family.compression_ratio is not None or _LIKE not in found:
        return more
    ratio = _ratio(program, table, *found[_LIKE])
    if ratio is None:
        return more
    sources = {**more.sources, "compression_ratio": Source(f"{where}, by Snappy", "estimated")}
    return replace(more, compression_ratio=ratio, sources=sources)


def _ratio(program: str, table: Path, size: int, blocks: int) -> float | None:
    """db_bench's ratio, from the table without a codec and with Snappy."""
    told = dict(_PROPERTY.findall(_printed(program, table, "--show_properties", "--command=none")))
    counts = {name: int(told.get(name, 0)) for name in ("# entries", "# deletions")}
    entries = counts["# entries"]
    valued = entries - counts["# deletions"]
    if valued <= 0:
        return None
    key, value = int(told["raw key size"]) / entries, int(told["raw value size"]) / valued
    packed = Packed(
        codec=_LIKE, key_size=key - KEY_TRAILER, value_size=value, valued=valued / entries,
        per_block=entries / max(1, blocks), packed=size / entries, variation=0.0, spread=1.0,
        sequences=0,
    )  # fmt: skip
    ratio = value_ratio(packed)
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
