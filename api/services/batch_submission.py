"""From the batch of a request to a plan whose jobs are all checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from api.http.problems import field_problems, refused
from api.schemas.job_schemas import JobChange
from api.schemas.schedule_schemas import BatchAsked
from api.services.dependencies import Service
from api.services.inline_documents import Registry
from api.services.submission import known_to, on_own_baseline, specification_from
from api.services.validation_errors import findings_in
from db.schema.job_row import JobKind
from jobs.batch.batch_plan import (
    BatchItem,
    BatchPlan,
    batch_items,
    require_measured_here,
    require_small,
)
from jobs.specification.experiments import REQUESTS
from sampler.common.errors import InputError, refuse_noted

if TYPE_CHECKING:
    from jobs.experiments.kinds import Known

_SETTINGS = frozenset(JobChange.model_fields)


def plan_from(asked: BatchAsked, name: str, service: Service) -> BatchPlan:
    """Checks all jobs of a batch at once; ``name`` is for a batch without one.

    Raises:
        ProblemError: Something is wrong; each finding names the job and the field.
        InputError: It is too large.
    """
    # As a TOML file would hold it, which has no null.
    document = asked.model_dump(exclude_unset=True, exclude_none=True)
    given_name = document.pop("name", None)
    noted: list[InputError] = []
    listed = batch_items(document, known=_SETTINGS, found=noted, field="batch")
    # Before each is read for its own sake, which takes its time.
    require_small(each.settings for each in listed)
    found = [finding for each in noted for finding in field_problems(each)]
    items, workloads = [], service.workloads
    known = cache(lambda: known_to(service, workloads))  # tuning jobs alone do without
    for each in listed:
        try:
            items.append(_item(each.name, dict(each.settings), service, workloads, known))
        except InputError as error:
            found += [
                finding.model_copy(update={"field": f"{each.name}: {finding.field}"})
                for finding in field_problems(error)
            ]
    if found:
        raise refused(found)
    plan = BatchPlan(given_name or name, tuple(items))
    require_small(plan.document()["items"])
    return plan


def _item(
    name: str,
    settings: dict[str, Any],
    service: Service,
    workloads: Registry,
    known: Callable[[], Known],
) -> BatchItem:
    try:
        if "kind" in settings:  # of an experiment
            from jobs.experiments.kinds import specified

            experiment = REQUESTS[JobKind(settings["kind"])].model_validate(settings)
            return BatchItem(name, specified(experiment, known()), experiment.priority)
        asked = JobChange.model_validate(settings)
    except ValidationError as error:
        refuse_noted([InputError(e.field, e.problem) for e in findings_in(error, settings)])
        raise
    asked = on_own_baseline(service, asked)
    specification = specification_from(asked, workloads, service.installed, builds=service.builds)
    require_measured_here(specification)
    return BatchItem(name, specification, asked.priority)
