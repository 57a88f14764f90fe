"""The raw results: a line a run of db_bench, kept when it ends and never measured twice."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Trial
from sampler.common.atomic_write import write_output
from studies.json_lines import append_line, read_lines
from studies.real_search.kept import row_of, trial_of


class Book:
    """Lines of one study within a file; those of other studies stay and are not looked at.

    Args:
        path: The file; made when the first line is kept.
        study: The study's digest.
    """

    def __init__(self, path: Path, study: str) -> None:
        """Reads what is there.

        Raises:
            InputError: It is no file of JSON lines.
        """
        self._path, self._study = path, study
        self._rows = [row for row in read_lines(path) if row.get("study") == study]

    def rows(self, kind: str, **given: Any) -> Iterator[Mapping[str, Any]]:
        """Lines of a kind (`study`, `trial`, `choice`, `again`) that hold what is given."""
        return (
            row
            for row in self._rows
            if row["kind"] == kind and all(row.get(name) == value for name, value in given.items())
        )

    def keep(self, row: Mapping[str, Any]) -> None:
        """Adds a line."""
        line = {"study": self._study, **row}
        append_line(self._path, line)
        self._rows.append(line)

    def keep_trial(
        self,
        problem: Problem,
        strategy: str,
        trial: Trial,
        *,
        wall: float,
        processor: float,
    ) -> None:
        """Adds a trial of a strategy, and what its proposal took."""
        took = {"wall": round(wall, 6), "processor": round(processor, 6)}
        head: dict[str, Any] = {"kind": "trial", "seed": problem.seed, "strategy": strategy}
        self.keep({**head, **row_of(problem, trial), **(took if trial.point else {})})

    def history(self, problem: Problem, strategy: str) -> History:
        """The trials of a strategy under the problem's seed."""
        rows = self.rows("trial", seed=problem.seed, strategy=strategy)
        return History(trial_of(problem, row) for row in rows)

    def forget(self, strategies: Collection[str]) -> int:
        """Takes out all that strategies have measured in this study; how many lines that were.

        What was measured side by side with them stays: it is measured anew with the next winners.
        """
        lines = read_lines(self._path)
        left = [
            row
            for row in lines
            if row.get("study") != self._study or row.get("strategy") not in strategies
        ]
        text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in left)
        write_output(self._path, text.encode())
        self._rows = [row for row in left if row.get("study") == self._study]
        return len(lines) - len(left)
