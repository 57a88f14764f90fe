"""The cases: each load at the baseline's memory and at a multiple of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from jobs.specification.named_files import specify
from jobs.specification.resolved_job import resolve
from jobs.specification.specification import Specification
from optimizer.budget.budget import LEAST_TRIALS
from optimizer.trials.history import History
from sampler.runner.settings import Settings
from studies.real_search.book import Book
from studies.real_search.kept import row_of
from studies.real_search.measure import measured
from studies.real_search.study import Study, study_of
from studies.search.asking import baseline_trial

_HERE = Path("studies/methods")
WORKLOADS = tuple(str(_HERE / f"{name}.toml") for name in ("load", "mixed", "overwrite"))
MULTIPLES = (1, 4)
_PACES = 3


@dataclass(frozen=True)
class Case:
    """One load at one budget of memory.

    Attributes:
        workload: A catalogue name or a TOML file.
        multiple: Of the memory of the baseline.
        space: A catalogue name or a TOML file; it must have a budget of memory.
    """

    workload: str
    multiple: int
    space: str = "default"

    @property
    def name(self) -> str:
        """Of its file: the load and the multiple."""
        return f"{Path(self.workload).stem}-{self.multiple}x"

    @property
    def specification(self) -> Specification:
        """What a job would be asked for.

        Raises:
            InputError: The space has no budget, or the load is too small for such memtables.
        """
        own = resolve(self._specify(None), None).problem.memory
        return self._specify(None if own is None else self.multiple * own)

    def _specify(self, memory: int | None) -> Specification:
        return specify(
            workload=self.workload, space=self.space, strategy="random", seed=0, memory=memory
        )


def cases_of(workloads: Sequence[str], multiples: Sequence[int]) -> list[Case]:
    """Every load at every multiple."""
    return [Case(workload, multiple) for workload in workloads for multiple in multiples]


def open_case(case: Case, seconds: float, settings: Settings, out: Path) -> tuple[Study, Book]:
    """A case on this machine, and its raw results; how many runs fit is measured once, and kept.

    Args:
        case: Which.
        seconds: Of the bench for each method.
        settings: Where it is measured.
        out: The folder of the raw results.

    Raises:
        InputError: It cannot be measured here.
    """
    study = study_of(case.specification, settings, evaluations=0, seconds=seconds)
    book = Book(out / f"{case.name}.jsonl", study.digest)
    if not any(book.rows("study")):
        book.keep(study.document())
    return paced(study, book), book


def paced(study: Study, book: Book) -> Study:
    """The study with as many evaluations as its seconds hold at the pace of the baseline.

    Strategies divide their budget by that; whoever proposes slower configurations measures fewer.
    """
    problem, history = study.seeded(0), History()
    while len(list(book.rows("pace"))) < _PACES:
        trial = measured(study.bench, problem, baseline_trial(problem, history))
        book.keep({"kind": "pace", **row_of(problem, trial)})
    pace = float(np.median([row["bench_seconds"] for row in book.rows("pace")]))
    assert study.seconds is not None
    return replace(study, evaluations=max(LEAST_TRIALS, int(study.seconds / pace)))
