"""From the body of a request to a specification that is checked as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.schemas.job_schemas import JobChange
from api.services.known_builds import KnownBuilds
from api.services.sent_documents import (
    Registry,
    sent_limits,
    sent_objective,
    sent_space,
    sent_start,
    sent_workload,
)
from jobs.specification.checked_specification import specification_of
from jobs.specification.frame import frame
from jobs.specification.measured_metrics import usual_objective
from jobs.specification.specification import Specification
from jobs.specification.warm_start_text import parse_warm_start
from optimizer.budget.sample_size import parse_detect
from optimizer.objective.objective_file import load_objective, objective_document
from optimizer.trials.problem import SearchSettings
from sampler.bench.builds import DEFAULT_BUILD
from sampler.bench.installed import InstalledDbBench
from sampler.common.byte_size import parse_bytes
from sampler.common.documents import read_document
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.space.space_file import space_text
from sampler.workload.workload_file import workload_from_document

_VALUES = ("strategy", "baseline", "baseline_options", "drop_unknown", "scale", "seed")
_TAKEN_BACK = ("db_bench", "host_kind", "confirm_scale")
_SEARCH = ("samples", "top", "over", "generations", "fitness", "stop_early", "cutoff")
# For a workload that is missing or wrong, so that the rest is checked all the same.
_STAND_IN: Mapping[str, Any] = {"name": "none", "external": True}
Given = Mapping[str, Any]


def specification_from(
    asked: JobChange,
    workloads: Registry,
    installed: InstalledDbBench | None,
    *,
    start: Specification | None = None,
    builds: KnownBuilds | None = None,
) -> Specification:
    """Checks all that is asked for at once.

    Args:
        asked: The request.
        workloads: Those that may be named, with their documents.
        installed: The db_bench that will measure, where it is known.
        start: The job that is cloned; what is not asked for stays as it is there.
        builds: Further builds that may be named, where they are known.

    Raises:
        InputError: Something is wrong.
        InputErrors: Several things are.
    """
    found: list[InputError] = []
    given = {name: getattr(asked, name) for name in asked.model_fields_set}
    parts = _parts(start)
    parts |= _documents(given, workloads, start, found)
    parts |= _values(given, found)
    named = parts.get("db_bench")
    if named not in (None, DEFAULT_BUILD):
        # Also in a clone of a job that a terminal made with a path.
        parts["db_bench"] = None  # what is wrong with it is told once
        with noting(found):
            installed = (builds or KnownBuilds()).find(named)
            parts["db_bench"] = named
    parts["search"] = _search(parts["search"], given, found)
    parts |= _beginnings(given, found)
    known = parts["workload"] is not _STAND_IN
    if known and parts["workload"].get("external") and parts["minutes"] is not None:
        found.append(InputError("minutes", "your own runner keeps its time; give trials"))
    built: Specification | None = None
    with noting(found):
        built = specification_of(**parts)
    if built is not None and not found:
        with noting(found):
            by_db_bench = not {"command", "external"} & parts["workload"].keys()
            frame(built, installed if by_db_bench else None)
    refuse_noted(found)
    assert built is not None
    return built


def _parts(start: Specification | None) -> dict[str, Any]:
    """What holds where nothing is asked for."""
    if start is not None:
        return start.document()
    return {
        "workload": _STAND_IN,
        "space": read_document(space_text("default"), field="space"),
        "objective": objective_document(load_objective("paper")),
        "shipped_space": True,
        "trials": None,
        "minutes": None,
        "search": {},
    }


def _documents(
    given: Given, workloads: Registry, start: Specification | None, found: list[InputError]
) -> dict[str, Any]:
    """Workload, space, objective and limits, as far as they are given."""
    sent: dict[str, Any] = {}
    if "workload" in given:
        with noting(found):
            sent["workload"] = sent_workload(given["workload"], workloads)
            if start is None:
                serves = usual_objective(workload_from_document(sent["workload"]))
                sent["objective"] = objective_document(load_objective(serves))
    if given.get("space") is not None:
        with noting(found):
            sent["space"], sent["shipped_space"] = sent_space(given["space"])
    if given.get("objective") is not None:
        with noting(found):
            sent["objective"] = sent_objective(given["objective"])
    if "limits" in given:
        with noting(found):
            sent["limits"] = sent_limits(given["limits"] or ())
        if start is not None and given.get("objective") is None:
            sent["objective"] = {k: v for k, v in start.objective.items() if k != "limit"}
    return sent


def _values(given: Given, found: list[InputError]) -> dict[str, Any]:
    """What is given as one value each. In a clone null takes some of them back."""
    sent: dict[str, Any] = {}
    if given.get("memory") is not None:
        with noting(found):
            sent["memory"] = parse_bytes(str(given["memory"]), field="memory")
    baselines = [name for name in ("baseline", "baseline_options") if given.get(name) is not None]
    if baselines:
        sent |= {"baseline": None, "baseline_options": None}
    if len(baselines) > 1:
        found.append(InputError("baseline_options", "give baseline or baseline_options, not both"))
    sent |= {name: given[name] for name in _VALUES if given.get(name) is not None}
    if given.get("trials") is not None or given.get("minutes") is not None:
        sent |= {"trials": given.get("trials"), "minutes": given.get("minutes")}
    return sent | {name: given[name] for name in _TAKEN_BACK if name in given}


def _search(before: Mapping[str, Any], given: Given, found: list[InputError]) -> SearchSettings:
    """How the search behaves; null stands for what is usual."""
    usual = SearchSettings().document()
    search = {
        name: usual[name] if given[name] is None else given[name]
        for name in _SEARCH
        if name in given
    }
    if "detect" in given and given["detect"] is None:
        search |= {"detect": None, "detect_metric": None}
    elif "detect" in given:
        with noting(found):
            change, metric = parse_detect(str(given["detect"]), field="detect")
            search |= {"detect": change, "detect_metric": metric}
    return SearchSettings.of({**before, **search})


def _beginnings(given: Given, found: list[InputError]) -> dict[str, Any]:
    """Where the search begins, and what it knows then."""
    sent: dict[str, Any] = {}
    if "start_from" in given:
        rows = given["start_from"]
        sent["start_from"] = None if rows is None else [sent_start(each) for each in rows]
    if "warm_start" in given:
        with noting(found):
            sent["warm_start"] = parse_warm_start(given["warm_start"], field="warm_start")
    return sent
