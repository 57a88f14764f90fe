"""Space that RocksDB takes before it needs it, which a database that is only tried must not take.

A log of writes is given 1.1 times the write buffer at its first record, up to 70 GiB in one call
(db_impl_open.cc, GetWalPreallocateBlockSize): of a disk with less it takes all there is for that
moment, and whatever else is written to the disk fails.
"""

from __future__ import annotations

import re

from sampler.options.options_file import DB, OptionsFile

_KEY = "allow_fallocate"
_ON = "true"  # the default too (options.h)
_LINE = re.compile(rf"^([^\S\n]*{_KEY}[^\S\n]*=[^\S\n]*)([^\s#]*)", re.MULTILINE)
_HEADER = re.compile(rf"^[^\S\n]*\[\s*{DB}\s*\].*$", re.MULTILINE)


def without_preallocation(text: str) -> str:
    """The text of an OPTIONS file with preallocation off; what RocksDB refuses stays as it is."""
    lines = _LINE.findall(text)
    if not lines:
        return _HEADER.sub(lambda found: f"{found[0]}\n  {_KEY}=false", text, count=1)
    if any(value not in {_ON, "1"} for _, value in lines):
        return text
    return _LINE.sub(r"\g<1>false", text)


def as_asked(effect: OptionsFile, text: str, tried: str) -> OptionsFile:
    """What is in effect, but for preallocation where it was turned off for the trial."""
    return effect if tried == text else effect.with_values(DB, {_KEY: _ON})
