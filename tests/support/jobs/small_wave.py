"""A wave small and short enough for a test: 3 MB, and a clock that no busy machine slows."""

from dataclasses import replace
from pathlib import Path

from jobs.autotune.request import AutotuneRequest, LoadShape, Marks
from jobs.autotune.run import AutotuneRun, Loaded, load, measure_policy

SHAPE = LoadShape(seconds=0.6, low=2e6, high=8e6)
ASKED = AutotuneRequest(
    policy="on",
    shape=SHAPE,
    marks=Marks(capacity=7.6e6, step=0.02),
    value_size=2000,
    read_seconds=0.05,
    direct_reads=False,
    recovery_seconds=20.0,
)


def asked(policy: str, **marks: float) -> AutotuneRequest:
    return replace(ASKED, policy=policy, marks=replace(ASKED.marks, **marks))


class Clock:
    """Goes on by what is waited, and by a little each time that it is looked at."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1e-5
        return self.now

    def pause(self, seconds: float) -> None:
        self.now += seconds


def ran(folder: Path, run: AutotuneRequest) -> AutotuneRun:
    clock = Clock()
    return measure_policy(run, folder, clock=clock, pause=clock.pause)


def loaded(folder: Path, run: AutotuneRequest) -> Loaded:
    clock = Clock()
    return load(folder, run, clock=clock, pause=clock.pause)
