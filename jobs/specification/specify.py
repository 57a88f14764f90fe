"""From the names and files of a terminal to a specification."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from jobs.specification.checked_specification import Asked, specification_of
from jobs.specification.measured_metrics import usual_objective
from jobs.specification.programs_from_anywhere import findable, findable_program
from jobs.specification.specification import Specification
from optimizer.objective.objective_file import load_objective, objective_document
from sampler.common.documents import parse_toml
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.options.normal_form import read_user_options
from sampler.space.space_file import SHIPPED, space_text
from sampler.workload.workload_file import load_workload, workload_document


def specify(
    *,
    workload: str = "load-quick",
    space: str = "default",
    objective: str | None = None,
    baseline: str | None = None,
    db_bench: str | None = None,
    **asked: Unpack[Asked],
) -> Specification:
    """Reads all that is named and checks it.

    Args:
        workload: A catalogue name or a TOML file.
        space: The same.
        objective: The same; None for ``paper``, or ``reading`` for reads of a prepared load.
        baseline: ``library``, ``db_bench`` or an OPTIONS file; None for the space's own.
        db_bench: A build's name, or the path of a program; None for the host's own.
        **asked: The rest of what ``specification_of`` takes.

    Raises:
        InputError: Something is wrong; the message names it and the mend.
    """
    found: list[InputError] = []
    documents: dict[str, Mapping[str, Any]] = {}
    usual = "paper"
    with noting(found):
        read = findable(load_workload(workload), Path(workload).parent)
        documents["workload"] = workload_document(read)
        usual = usual_objective(read)
    with noting(found):
        documents["space"] = parse_toml(space_text(space), field=f"--space {space}")
    with noting(found):
        documents["objective"] = objective_document(load_objective(objective or usual))
    name: str | None = None
    options: str | None = None
    with noting(found):
        name, options = read_baseline(baseline)
    refuse_noted(found)
    return specification_of(
        workload=documents["workload"],
        space=documents["space"],
        objective=documents["objective"],
        shipped_space=space in SHIPPED,
        baseline=name,
        baseline_options=options,
        db_bench=findable_program(db_bench),
        **asked,
    )


def read_baseline(given: str | None) -> tuple[str | None, str | None]:
    """The name of a baseline, or the text of the OPTIONS file that is one.

    Raises:
        InputError: It is neither a name nor an OPTIONS file.
    """
    if given is None or given in ("library", "db_bench"):
        return given, None
    try:
        text = Path(given).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError(
            "--baseline",
            f"{given!r} is not text in UTF-8 (line {line}); if it is an OPTIONS file, save it as "
            "UTF-8",
        ) from None
    except OSError:
        raise InputError(
            "--baseline", f"{given!r} is neither library, db_bench nor an OPTIONS file to read"
        ) from None
    read_user_options(text, name=f"--baseline {given}")
    return None, text
