"""A benchmark of two shell scripts, for the tests: one prepares, the other is measured."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sampler.bench.bench_folder import PreparedNote, write_note
from sampler.bench.outcome import EndedProcess, Ending, Outcome, TrialState, ending_problem
from sampler.space.space import Configuration


@dataclass(frozen=True)
class Filling:
    """The script that prepares: it works in the trial's folder."""

    script: str
    folder: Path
    shared: str | None

    @property
    def outputs(self) -> Path:
        return self.folder / "prepare"

    def argv(self) -> list[str]:
        return ["/bin/sh", "-c", f"cd {self.folder} && mkdir db && {self.script}"]

    def key(self) -> str | None:
        return self.shared

    @property
    def held_from(self) -> str:
        return "held"

    def settled(self) -> bool:
        return (self.folder / "rested").exists()

    def finish(self, ended: EndedProcess) -> Outcome | None:
        problem = ending_problem(ended, (self.outputs / "stderr").read_text())
        if ended.ending is Ending.CUTOFF:
            problem = TrialState.CENSORED, "cut off"
        if problem:
            state, why = problem
            return Outcome(
                state=state, failure=f"prepared: {why}", bench_seconds=ended.wall_seconds
            )
        note = PreparedNote(seconds=ended.wall_seconds, user_bytes=1, stored_bytes=1)
        write_note(self.folder, note)
        return None


@dataclass(frozen=True)
class TwoStages:
    """Meets ``sampler.bench.runner.Benchmark``; what it prints last is its figure."""

    first: str
    second: str
    timeout_seconds: float = 30.0
    shared: str | None = None
    space_bytes: int = 0

    def prepare(self, configuration: Configuration, folder: Path) -> list[str]:
        del configuration
        return ["/bin/sh", "-c", f"cd {folder} && {self.second}"]

    def preparing(self, configuration: Configuration, folder: Path) -> Filling:
        del configuration
        return Filling(self.first, folder, self.shared)

    def environment(self) -> Mapping[str, str]:
        return os.environ

    @property
    def held_from(self) -> None:
        return None

    def settled(self, folder: Path) -> bool:
        del folder
        return False

    def harvest(
        self, configuration: Configuration, folder: Path, ended: EndedProcess, began: float
    ) -> Outcome:
        del configuration, began
        seconds = ended.wall_seconds
        problem = ending_problem(ended, (folder / "stderr").read_text())
        if ended.ending is Ending.CUTOFF:
            problem = TrialState.CENSORED, "cut off"
        if problem:
            return Outcome(state=problem[0], failure=problem[1], bench_seconds=seconds)
        lines = (folder / "stdout").read_text().split()
        metrics = {"x": float(lines[-1]), "wall": seconds}
        return Outcome(state=TrialState.DONE, metrics=metrics, bench_seconds=seconds)

    def following(
        self, configuration: Configuration, folder: Path, outcome: Outcome, *, reads: int
    ) -> tuple[()]:
        del configuration, folder, outcome, reads
        return ()
