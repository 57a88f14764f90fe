"""Flags of db_bench that are options of RocksDB: beside an OPTIONS file they do nothing.

With ``--options_file`` db_bench takes its options from the file and leaves out
``InitializeOptionsFromFlags``; only ``InitializeOptionsGeneral``, opening and the benchmarks
themselves look at flags (db_bench_tool.cc, ``Open``). ``option_flags.csv`` lists the flags that
are looked at nowhere else, from the sources of RocksDB 6.20 to 11.8, and the key that stands for
each in an OPTIONS file; empty where none does. ``tried`` is a value that 7.8.3 was given without
a file, ``written`` what it then wrote into its OPTIONS file. A test tries all of them on the
installed build, with and without a file.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from sampler.common.documents import packaged_rows
from sampler.options.options_file import CF, DB, TABLE
from sampler.parameters.catalogue import catalogue
from sampler.parameters.parameter import Value

_TITLES = {"DBOptions": DB, "CFOptions": CF, "Table": TABLE, "": ""}


@dataclass(frozen=True)
class OptionFlag:
    """A flag that is an option."""

    name: str
    title: str  # the section of an OPTIONS file that holds its key; empty: no key stands for it
    key: str  # the key
    tried: str  # a value of the flag
    written: str  # what RocksDB wrote for it

    def instead(self, value: Value) -> str:
        """What to do about a flag that was given this value, for a message."""
        if not self.key:
            return "no key of an OPTIONS file stands for it; leave it out"
        line = self._line(self._text(value))
        return f"write {line} in [{self.title}] of an OPTIONS file for --baseline"

    def _text(self, value: Value) -> str:
        """What stands for a value in an OPTIONS file; empty where that is not known."""
        given = str(value).lower() if isinstance(value, bool) else str(value)
        for parameter in catalogue().values():
            if parameter.flag == self.name and parameter.kind == "cat":
                return str(dict(parameter.choices).get(given, ""))
        if self.name.endswith("_mb") and self.key.startswith("compaction_options_fifo"):
            return str(value * 2**20) if isinstance(value, int) else ""
        if given == self.tried:
            return self.written
        if isinstance(value, bool | str):
            return given if self.tried == self.written and self.tried in ("true", "false") else ""
        # 3 became FixedPrefix.3, or stayed 3: then any other number becomes the like.
        parts = re.split(rf"(?<!\d){re.escape(self.tried)}(?!\d)", self.written)
        return given.join(parts) if self.tried and len(parts) == 2 else ""

    def _line(self, text: str) -> str:
        """The key with a value, as an OPTIONS file has it; the key alone where none is known."""
        struct, _, member = self.key.partition(".")
        if not text:
            return f"{member} of {struct}" if member else struct
        return f"{struct}={{{member}={text};}}" if member else f"{struct}={text}"


@cache
def option_flags() -> Mapping[str, OptionFlag]:
    """All of them, by name."""
    return {
        row["flag"]: OptionFlag(
            row["flag"], _TITLES[row["section"]], row["key"], row["tried"], row["written"]
        )
        for row in packaged_rows("sampler", "option_flags.csv")
    }
