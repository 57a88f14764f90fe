"""From the names and files of a terminal to a specification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jobs.checked_specification import specification_of
from jobs.measured_metrics import usual_objective
from jobs.programs_from_anywhere import findable, findable_program
from jobs.specification import Specification
from jobs.warm_start_text import WarmStart
from optimizer.default_strategy import DEFAULT_STRATEGY
from optimizer.objective import Limit
from optimizer.objective_file import load_objective, objective_document
from optimizer.problem import SearchSettings
from sampler.documents import read_document
from sampler.errors import InputError, noting, refuse_noted
from sampler.options_file import parse_options
from sampler.space_file import SHIPPED, space_text
from sampler.workload_file import load_workload, workload_document


def specify(
    *,
    workload: str = "load-quick",
    space: str = "default",
    objective: str | None = None,
    limits: Sequence[Limit] = (),
    strategy: str = DEFAULT_STRATEGY,
    baseline: str | None = None,
    trials: int | None = None,
    minutes: float | None = None,
    memory: int | None = None,
    scale: int | None = None,
    seed: int = 1,
    search: SearchSettings | None = None,
    db_bench: str | None = None,
    host_kind: str | None = None,
    start_from: Sequence[Mapping[str, Any]] | None = None,
    warm_start: WarmStart = None,
    confirm_scale: int | None = None,
) -> Specification:
    """Reads all that is named and checks it.

    Args:
        workload: A catalogue name or a TOML file.
        space: The same.
        objective: The same; None for ``paper``, or ``reading`` for a load that only reads.
        limits: Added to those of the objective.
        strategy: A strategy's name.
        baseline: ``library``, ``db_bench`` or an OPTIONS file; None for the space's own.
        trials: Runs of the benchmark in all, at least 12; None with ``minutes``, or for
            the default.
        minutes: Time instead of trials.
        memory: Budget in bytes; None for the baseline's.
        scale: Overrides the workload's scale.
        seed: Everything random comes from it.
        search: How the search behaves; None for the defaults.
        db_bench: A build's name, or the path of a program; None for the host's own.
        host_kind: The kind of hosts that it is for; None for any.
        start_from: Where the search begins; None for where the strategy usually does.
        warm_start: ``auto``, or the number of an earlier job; None for none.
        confirm_scale: The scale of the confirmation, below that of the search; None: the same.

    Raises:
        InputError: Something is wrong; the message names it and the mend.
    """
    found: list[InputError] = []
    documents: dict[str, Mapping[str, Any]] = {"workload": {}, "space": {}, "objective": {}}
    usual = "paper"
    with noting(found):
        read = findable(load_workload(workload), Path(workload).parent)
        documents["workload"] = workload_document(read)
        usual = usual_objective(read)
    with noting(found):
        documents["space"] = read_document(space_text(space), field=f"--space {space}")
    with noting(found):
        documents["objective"] = objective_document(load_objective(objective or usual))
    name: str | None = None
    options: str | None = None
    with noting(found):
        name, options = _baseline(baseline)
    refuse_noted(found)
    return specification_of(
        workload=documents["workload"],
        space=documents["space"],
        objective=documents["objective"],
        limits=limits,
        shipped_space=space in SHIPPED,
        strategy=strategy,
        baseline=name,
        baseline_options=options,
        trials=trials,
        minutes=minutes,
        memory=memory,
        scale=scale,
        seed=seed,
        search=search,
        db_bench=findable_program(db_bench),
        host_kind=host_kind,
        start_from=start_from,
        warm_start=warm_start,
        confirm_scale=confirm_scale,
    )


def _baseline(given: str | None) -> tuple[str | None, str | None]:
    if given is None or given in ("library", "db_bench"):
        return given, None
    try:
        text = Path(given).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError(
            "--baseline", f"{given!r} is neither library, db_bench nor an OPTIONS file to read"
        ) from None
    parse_options(text, name=f"--baseline {given}")
    return None, text
