"""An experiment: what is measured by real runs, and the findings that are made of them.

A terminal keeps the runs in a folder, a job in the database; all else is the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jobs.experiments.interleaved import NOTHING_KEPT, KeptRuns, RunsObserver, runs_file
from jobs.results.output_folder import RESULT, json_text, require_folder, write_files
from jobs.results.pages import whole_page


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What came of an experiment."""

    document: Mapping[str, Any]  # as JSON
    name: str = RESULT  # of the file that holds it
    more: Mapping[str, str] = field(default_factory=dict)  # other files by name

    @property
    def files(self) -> dict[str, str]:
        """All its files by name; pages without their library."""
        return {self.name: json_text(self.document), **self.more}


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What is measured, bound to this machine."""

    # What its runs are runs of: all that must be the same to go on with them.
    identity: Mapping[str, Any]
    runs: int  # how many it makes; 0: nothing is measured
    # Measures what is missing of the runs kept, and concludes.
    measure: Callable[[KeptRuns, RunsObserver], Findings]
    cautions: Sequence[str] = field(default=())  # to be known before figures are read


def measure_in_folder(
    experiment: Experiment, out: Path, *, resume: bool, observer: RunsObserver
) -> Findings:
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
    files = found.files.items()
    # A page leaves with what draws its plots.
    write_files(out, {n: whole_page(text) if n.endswith(".html") else text for n, text in files})
    return found
