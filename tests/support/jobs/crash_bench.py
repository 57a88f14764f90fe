"""A benchmark whose every run leaves two lines in a file, and a process that wants to stay."""

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# The background sleep outlives a killed run by far: whoever measures next must end it. Codec
# `fast` writes half as much; the time is drawn from the process number.
_SCRIPT = """\
read -r given < "$1"
echo "start $ROCKTUNE_TRIAL $given" >> {folder}/record
sleep 600 &
read -r least most < {folder}/milliseconds
ms=$(( least + ($$ * 1103515245 + 12345) / 65536 % (most - least + 1) ))
sleep 0.$(printf %03d $ms)
n=$(( ($$ * 69069 + 1) / 16 % 90 + 10 ))
case "$given" in *'"codec": "fast"'*) waf=1 ;; *) waf=2 ;; esac
echo "end $ROCKTUNE_TRIAL $given" >> {folder}/record
kill $! && wait $! 2>/dev/null
printf '{{"waf": %d.0%d, "sa": 1.2, "time": 3.1%d, "rate": 10%d}}\\n' $waf $n $n $n
"""
NAME = "recorded"
SPACE: Mapping[str, Any] = {
    "name": "codecs",
    "parameter": [
        {"name": "codec", "type": "cat", "choices": ["slow", "fast"]},
        {"name": "level", "type": "int", "low": 1, "high": 1_000_000},
    ],
}


@dataclass(frozen=True)
class Run:
    """A line of the record: ``start`` or ``end``, the run's mark, its configuration."""

    what: str
    token: str
    configuration: str


class RecordedBench:
    """The benchmark in a folder, as a workload file that the service is shown."""

    def __init__(self, folder: Path, workloads: Path) -> None:
        self.folder = folder
        program = folder / "bench.sh"
        program.write_text(_SCRIPT.format(folder=folder))
        (folder / "record").touch()
        self.takes(50, 150)
        workloads.mkdir(exist_ok=True)
        (workloads / "recorded.toml").write_text(
            f'name = "{NAME}"\n[command]\n'
            f'argv = ["/bin/sh", "{program}", "{{configuration}}"]\ntimeout_seconds = 60\n'
        )

    def takes(self, least: int, most: int) -> None:
        """How many milliseconds a run takes from now on."""
        new = self.folder / "milliseconds.new"
        new.write_text(f"{least} {most}\n")
        new.rename(self.folder / "milliseconds")

    def runs(self) -> list[Run]:
        lines = (self.folder / "record").read_text().splitlines()
        return [Run(*line.split(" ", 2)) for line in lines]

    def counted(self, what: str) -> Counter[str]:
        """How often each configuration was begun, or measured to its end."""
        return Counter(run.configuration for run in self.runs() if run.what == what)


def written(configuration: Mapping[str, object]) -> str:
    """A configuration as the record has it."""
    return json.dumps(dict(configuration))


def marked(bench: Path) -> dict[int, str]:
    """The trials' marks of the benchmark's processes that are alive, by process number."""
    found: dict[int, str] = {}
    wanted = f"ROCKTUNE_BENCH_DIR={bench}".encode()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            try:
                environ = (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if wanted in environ:
                trial = next((e for e in environ if e.startswith(b"ROCKTUNE_TRIAL=")), None)
                if trial is not None:
                    found[int(folder.name)] = trial.partition(b"=")[2].decode()
    return found
