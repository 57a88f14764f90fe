"""A benchmark that ends at once, and what the tests need to see of it."""

import os
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jobs.specification.named_files import specify
from jobs.specification.specification import Specification
from optimizer.run.planning import RunProgress
from optimizer.run.ports import Unwatched
from optimizer.trials.trial import Phase, Trial
from tests.support.sampler.codec_space import SPACE

# `codec = "fast"` halves what is written; `level` does nothing. All without another process: a
# trial is a few milliseconds of /bin/sh. It prints the conditions of its run, too: jobs are
# compared to the last figure.
SCRIPT = """\
read -r given < "$1"
{record}
n={noise}
case "$given" in *'"codec": "{wins}"'*) waf=1 ;; *) waf=2 ;; esac
machine='"others_cpu": 0.1, "machine_speed": 1'
figures='"waf": %d.0%d, "sa": 1.2, "time": 3.1%d, "rate": 10%d'
printf "measured\\n{{$figures, $machine}}\\n" $waf $n $n $n
"""
_NOISE = "$(( ($$ * 1103515245 + 12345) / 65536 % 90 + 10 ))"


def write_space(folder: Path, text: str = SPACE, name: str = "space.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def write_workload(
    folder: Path,
    *,
    wins: str = "fast",
    record: Path | None = None,
    script: str | None = None,
    repeatable: bool = False,
) -> Path:
    """The workload's TOML file.

    Args:
        folder: Receives it.
        wins: The codec that writes half as much. With ``none`` nothing is ever better, and all
            runs measure the same, so that none seems so by chance.
        record: A file or pipe that every run adds its configuration to, before it measures.
        script: Another script.
        repeatable: The noise of a run follows from how many are on the record before it, so that a
            job measures the same whenever it is run; it takes another process.
    """
    kept = f"printf '%s\\n' \"$given\" >> '{record}'" if record else ""
    noise = "50" if wins == "none" else _NOISE
    if repeatable:
        noise = f"$(( ($(wc -l < '{record}') * 7919 + 31) % 90 + 10 ))"
    text = SCRIPT.format(wins=wins, record=kept, noise=noise) if script is None else script
    program = folder / "bench.sh"
    program.write_text(text)
    path = folder / "workload.toml"
    path.write_text(
        f'name = "instant"\n[command]\nargv = ["/bin/sh", "{program}", "{{configuration}}"]\n'
        "timeout_seconds = 60\n"
    )
    return path


def codec_job(folder: Path, workload: Path, **asked: Any) -> Specification:
    """A job of a dozen random codecs, for which a workload is measured."""
    usual = {"objective": "waf", "strategy": "random", "trials": 12}
    return specify(workload=str(workload), space=str(write_space(folder)), **usual | asked)


class Watcher(Unwatched):
    """Progress that remembers, for ``run_job``."""

    def __init__(self) -> None:
        self.phases: list[Phase] = []
        self.ended: list[Trial] = []
        self.ticks = 0

    def phase(self, phase: Phase, why: str) -> None:
        assert why
        self.phases.append(phase)

    def trial_ended(self, trial: Trial, standing: RunProgress) -> None:
        assert standing.done + standing.failed == trial.number
        self.ended.append(trial)

    def tick(self) -> None:
        self.ticks += 1


def running_with(mark: str) -> list[int]:
    """The processes whose environment holds a text, this one excepted."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            try:
                if mark.encode() in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


def left_running(mark: str, *, seconds: float = 20.0) -> list[int]:
    """Those of them that do not end; a kill takes a moment to arrive."""
    until = time.monotonic() + seconds
    while left := running_with(mark):
        for pid in left:
            with pidfd(pid) as descriptor:
                patience = max(0.0, until - time.monotonic())
                if descriptor is not None and not ended_within(descriptor, patience):
                    return left
    return []


@contextmanager
def pidfd(pid: int) -> Iterator[int | None]:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def ended_within(descriptor: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def read_from(pipe: int, pid: int, *, seconds: float = 60.0) -> bytes:
    """What is in a pipe that a process, or its children, write to; not for ever."""
    with pidfd(pid) as process:
        assert process is not None, "the process ended"
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        poll.register(process, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll(seconds * 1000)}
    assert pipe in ready, "the process ended" if ready else "nothing came"
    return os.read(pipe, 65536)
