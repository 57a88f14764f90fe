"""What is wrong with a request whose types are wrong: every field of it, not the first alone."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from api.http.problems import FieldProblem, ProblemError, field_problems, refused, safe, shortened
from api.schemas.job_schemas import JobChange, kind_in
from api.services.inline_documents import Registry
from api.services.submission import specification_from
from db.schema.job_row import JobKind
from jobs.specification.request import WRITE
from jobs.specification.specification import Specification
from sampler.common.errors import InputError
from sampler.common.wrong_values import value_problem


def finding_of(found: Any) -> FieldProblem:
    """Of one of pydantic's errors; its place begins with where the fields were, as ``body``."""
    place, *parts = _place(found)
    if found["type"] == "union_tag_invalid":
        kinds = ", ".join(JobKind)
        where = "".join(f"[{part}]" if isinstance(part, int) else f"{part}" for part in parts)
        named = f"{where}.kind" if where else "kind"
        return FieldProblem(field=named, problem=f"write one of {kinds}")
    if found["type"] == "json_invalid":
        return FieldProblem(field="body", problem="is not JSON")
    given = None if found["type"] == "missing" else shortened(found.get("input"))
    if parts and parts[0] in WRITE:
        return FieldProblem(field=parts[0], problem=WRITE[parts[0]], value=given)
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    named = field.removeprefix(".") or str(place)
    return FieldProblem(field=safe(named), problem=safe(value_problem(found)), value=given)


def _place(found: Any) -> list[Any]:
    """Where it is: which kind of job the fields were read as is no part of that."""
    kinds = [*JobKind, "experiment"]
    return [part for part in found["loc"] if part not in kinds]


def refusal(errors: Iterable[Any], rest: Iterable[FieldProblem]) -> ProblemError:
    """A 422 that names each field once: pydantic's errors, and what else is wrong.

    Of a value that may be of several types, each type has its say.
    """
    found = [*map(finding_of, errors), *rest]
    return refused(list({each.field: each for each in found}.values()))


def findings_of_job(request: Request, error: RequestValidationError) -> list[FieldProblem]:
    """What else is wrong with a job of which some fields are not even of the right type."""
    body = error.body
    if request.method != "POST" or request.url.path != "/v1/jobs" or not isinstance(body, dict):
        return []
    if kind_in(body) != JobKind.TUNE:
        return []
    body = {name: value for name, value in body.items() if name != "kind"}
    wrong = {place[1] for found in error.errors() if len(place := _place(found)) > 1}
    return findings_of_rest(body, wrong, request.app.state.service.workloads)


def findings_of_rest(
    body: Mapping[str, Any],
    wrong: Collection[str],
    workloads: Registry,
    start: Specification | None = None,
) -> list[FieldProblem]:
    """What is wrong with the fields of a job beside those whose type is wrong already."""
    rest = {name: value for name, value in body.items() if name not in wrong}
    try:
        asked = JobChange.model_validate(rest)
        specification_from(asked, workloads, None, start=start)
    except InputError as more:
        return field_problems(more, rest)
    except ValidationError:
        return []
    return []
