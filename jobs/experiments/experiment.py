"""An experiment: what is measured by real runs, and the findings that are made of them.

A terminal keeps the runs in a folder, a job in the database; all else is the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from jobs.experiments.interleaved import NOTHING_KEPT, KeptRuns, RunsObserver, runs_file
from jobs.results.output_folder import RESULT, json_text, require_folder, write_files
from jobs.results.pages import whole_page


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What came of an experiment."""

    document: Mapping[str, Any]  # as JSON
    name: str = RESULT  # of the file that holds it

    def files(self) -> Mapping[str, str]:
        """Its files by name; pages without their library."""
        return {self.name: json_text(self.document)}


F = TypeVar("F", bound=Findings)


@dataclass(frozen=True, kw_only=True)
class Experiment(Generic[F]):
    """What is measured, bound to this machine."""

    # What its runs are runs of: all that must be the same to go on with them.
    identity: Mapping[str, Any]
    runs: int  # how many it makes; 0: nothing is measured
    # Measures what is missing of the runs kept, and concludes.
    measure: Callable[[KeptRuns, RunsObserver], F]
    cautions: Sequence[str] = field(default=())  # to be known before figures are read


def measure_in_folder(
    experiment: Experiment[F], out: Path, *, resume: bool, observer: RunsObserver
) -> F:
    """Measures what is missing; ``out`` receives every run as it ends, and the files.

    Raises:
        InputError: The folder holds runs and ``resume`` is not given, or those of another
            experiment; or this machine cannot measure it.
    """
    require_folder(out)
    if experiment.runs:
        with runs_file(out, experiment.identity, resume=resume) as kept:
            found = experiment.measure(kept, observer)
    else:
        found = experiment.measure(NOTHING_KEPT, observer)
    write_files(out, {name: as_written(name, text) for name, text in found.files().items()})
    return found


def as_written(name: str, text: str) -> str | bytes:
    """A file as it leaves: a page with what draws its plots."""
    return whole_page(text) if name.endswith(".html") else text
