"""A benchmark of two shell scripts, for the tests: one prepares, the other is measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sampler.bench.bench_folder import PreparedNote, write_note
from sampler.bench.outcome import EndedProcess, Ending, Outcome, TrialState, ending_problem
from sampler.bench.runner import Benchmark, Stage
from sampler.space.space import Configuration


@dataclass(frozen=True)
class Filling(Stage):
    """The script that prepares: it works in the trial's folder."""

    script: str
    folder: Path
    shared: str | None
    held_from = "held"

    @property
    def outputs(self) -> Path:
        return self.folder / "prepare"

    def argv(self) -> list[str]:
        return ["/bin/sh", "-c", f"cd {self.folder} && mkdir db && {self.script}"]

    def key(self) -> str | None:
        return self.shared

    def settled(self) -> bool:
        return (self.folder / "rested").exists()

    def finish(self, ended: EndedProcess, outcome: Outcome | None) -> Outcome | None:
        del outcome
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
class TwoStages(Benchmark):
    """What the second prints last is its figure."""

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

    def harvest(self, configuration: Configuration, folder: Path, ended: EndedProcess) -> Outcome:
        del configuration
        seconds = ended.wall_seconds
        problem = ending_problem(ended, (folder / "stderr").read_text())
        if ended.ending is Ending.CUTOFF:
            problem = TrialState.CENSORED, "cut off"
        if problem:
            return Outcome(state=problem[0], failure=problem[1], bench_seconds=seconds)
        lines = (folder / "stdout").read_text().split()
        metrics = {"x": float(lines[-1]), "wall": seconds}
        return Outcome(state=TrialState.DONE, metrics=metrics, bench_seconds=seconds)
