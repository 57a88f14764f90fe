"""A nightly.toml as a service takes it: what its own files hold goes in, workloads are named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jobs.batch.batch_file import SETTINGS, batch_file, file_beside, findings_of, started
from jobs.batch.batch_items import batch_items
from jobs.specification.start_from import sent_starts
from optimizer.objective.objective_file import SHIPPED as OBJECTIVES
from optimizer.objective.objective_file import objective_text
from sampler.common.documents import parse_toml
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.space.space_file import SHIPPED as SPACES
from sampler.space.space_file import space_text


def batch_request(path: Path) -> dict[str, Any]:
    """The batch for the body of ``POST /v1/schedules``, each of its jobs as a single one.

    Args:
        path: The file; the files that it names are looked for beside it.

    Raises:
        InputError: A file cannot be read, or names what cannot be sent.
        InputErrors: Several of that.
    """
    name, document = batch_file(path)
    rows = []
    found: list[InputError] = []
    for each in batch_items(document, known=SETTINGS, found=found, field=path.name):
        try:
            rows.append({"name": each.name, **_sent(each.settings, path.parent)})
        except InputError as error:
            found += findings_of(each.name, error)
    refuse_noted(found)
    return {"name": name, "job": rows}


def _sent(settings: Mapping[str, Any], beside: Path) -> dict[str, Any]:
    found: list[InputError] = []
    asked: dict[str, Any] = {}
    for name, value in settings.items():
        with noting(found):
            asked |= _setting(name, value, beside)
    refuse_noted(found)
    return asked


def _setting(name: str, value: Any, beside: Path) -> dict[str, Any]:
    if name == "workload" and str(value).endswith(".toml"):
        raise InputError(
            name,
            "a service runs only workloads that it knows by name; "
            "its operator puts files into ROCKTUNE_WORKLOADS_DIR",
        )
    if name == "space":
        return {name: _inlined(name, value, SPACES, space_text, beside)}
    if name == "objective":
        return {name: _inlined(name, value, OBJECTIVES, objective_text, beside)}
    if name == "baseline" and value not in ("library", "db_bench"):
        return {"baseline_options": _options(value, beside)}
    if name == "start_from":
        return {name: sent_starts(started(value, beside))}
    return {name: value}


def _inlined(
    name: str, value: Any, shipped: tuple[str, ...], text: Callable[[str], str], beside: Path
) -> Any:
    if value in shipped or not isinstance(value, str):
        return value
    return parse_toml(text(file_beside(name, value, beside)), field=f"{name} {value}")


def _options(value: Any, beside: Path) -> str:
    try:
        return Path(file_beside("baseline", str(value), beside)).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError):
        problem = f"{value!r:.80} is neither library, db_bench nor an OPTIONS file to read"
        raise InputError("baseline", problem) from None
