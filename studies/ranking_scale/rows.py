"""Raw results as JSON lines: a run a line, appended when it ends, never made twice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from sampler.common.errors import InputError
from sampler.parameters.parameter import Value
from sampler.runner.outcome import TrialState
from studies.ranking_scale.order import Run


@dataclass(frozen=True, kw_only=True)
class Row:
    """A run and what came of it.

    Attributes:
        configuration: At full scale.
        levels: Bytes of table files by level when the run ended, from level 0.
        seconds: How long the benchmark's process lived.
        ended: When, UTC.
        host: CPU, cores, memory, system, and the version of RocksDB.
    """

    run: Run
    num: int
    configuration: Mapping[str, Value]
    state: TrialState
    metrics: Mapping[str, float]
    levels: tuple[int, ...]
    failure: str | None
    warnings: tuple[str, ...]
    seconds: float
    ended: str
    host: Mapping[str, str]

    @property
    def done(self) -> bool:
        """Whether every metric was measured."""
        return self.state is TrialState.DONE


def read_rows(path: Path) -> list[Row]:
    """All kept runs; a last line that was torn off is left out.

    Raises:
        InputError: A line before the last is no result.
    """
    if not path.exists():
        return []
    rows = []
    lines = path.read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines[:-1], start=1):
        try:
            row = json.loads(line)
            run = Run(*(row.pop(name) for name in ("kind", "index", "round", "divisor")))
            state, levels = TrialState(row.pop("state")), tuple(row.pop("levels"))
            warnings = tuple(row.pop("warnings"))
            rows.append(Row(run=run, state=state, levels=levels, warnings=warnings, **row))
        except (ValueError, TypeError, KeyError) as error:
            raise InputError("--raw", f"line {number} of {path} is no result: {error}") from None
    return rows


def append_row(path: Path, row: Row) -> None:
    """Keeps a run on a line of its own; what a killed study began to write is dropped."""
    document = asdict(row)
    document = {**document.pop("run"), **document, "state": row.state.value}
    with path.open("a+b") as file:
        written = path.read_bytes()
        whole = written.rfind(b"\n") + 1
        if whole < len(written):
            file.truncate(whole)
        file.write(json.dumps(document).encode() + b"\n")
