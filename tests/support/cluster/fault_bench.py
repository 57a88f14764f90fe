"""A benchmark whose every run says what it printed, and leaves a process behind."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.sampler.codec_space import write_command

# The background sleep outlives a killed run by far: whoever measures next there must end it. The
# rate is unique to the run, so a stored result can be traced to it.
_SCRIPT = """\
#!/bin/sh
echo "begins $BENCH_HOST $$ $ROCKTUNE_TRIAL" >> {folder}/record
sleep 600 &
read -r given < "$1"
case "$given" in *'"codec": "fast"'*) waf=1 ;; *) waf=2 ;; esac
set -- $(od -An -N8 -tu4 /dev/urandom)
read -r least most < {folder}/milliseconds
ms=$(( least + $1 % (most - least + 1) ))
sleep $(( ms / 1000 )).$(printf %03d $(( ms % 1000 )))
n=$(( $2 % 90 + 10 ))
rate=$(printf '100.%010d%03d' "$1" $(( $2 / 90 % 1000 )))
printed="{{\\"waf\\": $waf.0$n, \\"sa\\": 1.2, \\"time\\": 3.1$n, \\"rate\\": $rate}}"
echo "ends $BENCH_HOST $$ $ROCKTUNE_TRIAL $printed" >> {folder}/record
echo "$printed"
"""


@dataclass(frozen=True)
class Line:
    """A line of the record.

    Attributes:
        word: ``begins`` or ``ends``.
        printed: What an ended run printed.
    """

    word: str
    host: str
    pid: int
    token: str
    printed: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class FaultBench:
    """The benchmark in a folder, for all hosts of this machine."""

    folder: Path

    def workload(self) -> Path:
        script = _SCRIPT.format(folder=self.folder)
        return write_command(self.folder, script, "struck", timeout=300)

    def takes(self, least: int, most: int) -> None:
        """How many milliseconds a run takes from now on."""
        new = self.folder / "milliseconds.new"
        new.write_text(f"{least} {most}\n")
        new.rename(self.folder / "milliseconds")

    def lines(self) -> list[Line]:
        record = self.folder / "record"
        return lines_of(record.read_text() if record.exists() else "")


def lines_of(record: str) -> list[Line]:
    """The record's whole lines: the last may be half written."""
    found = []
    for line in record.splitlines(keepends=True):
        if line.endswith("\n"):
            word, host, pid, token, *printed = line.split(maxsplit=4)
            said = json.loads(printed[0]) if printed else {}
            found.append(Line(word, host, int(pid), token, said))
    return found
