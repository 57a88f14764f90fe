"""Raw results as JSON lines: one line a run, appended when it ends, never made twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from sampler.common.errors import InputError
from studies.json_lines import append_line, read_lines
from studies.search.run import Judged


@dataclass(frozen=True)
class Key:
    """What a run is.

    Attributes:
        function: `load/boosting`.
        digest: Of that function: results of another count no more.
        evaluations: The budget; strategies divide it, so runs of other budgets differ from the
            first proposal.
    """

    function: str
    digest: str
    strategy: str
    seed: int
    evaluations: int


@dataclass(frozen=True)
class Result:
    """A run and how its recommendations were judged, by checkpoint."""

    key: Key
    judged: tuple[Judged, ...]


def read_results(path: Path) -> list[Result]:
    """All kept runs; a last line that was torn off is left out.

    Raises:
        InputError: A line before the last is no result.
    """
    results = []
    for number, row in enumerate(read_lines(path), start=1):
        try:
            judged = tuple(Judged(**each) for each in row.pop("judged"))
            results.append(Result(Key(**row), judged))
        except (TypeError, KeyError) as error:
            raise InputError("--out", f"line {number} of {path} is no result: {error}") from None
    return results


def append_result(path: Path, key: Key, judged: Sequence[Judged]) -> Result:
    """Keeps a run, on a line of its own."""
    append_line(path, {**asdict(key), "judged": [asdict(each) for each in judged]})
    return Result(key, tuple(judged))
