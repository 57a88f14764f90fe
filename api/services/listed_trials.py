"""A page of a job's trials, for the interface and for the dashboard alike."""

from __future__ import annotations

from sqlalchemy import Engine

from api.schemas.trial_schemas import TrialPage, TrialPublic
from db.trials.trial_list import TrialOrder, list_trials
from optimizer.trials.trial import Phase
from sampler.common.errors import InputError
from sampler.runner.outcome import TrialState


def page_of_trials(
    engine: Engine,
    job_id: int,
    *,
    limit: int,
    after: int | None = None,
    state: TrialState | None = None,
    phase: Phase | None = None,
    order: TrialOrder = TrialOrder.NUMBER,
) -> TrialPage:
    """A page of the trials that are asked for; the arguments are those of ``trial_list``.

    Raises:
        InputError: Where the page begins is no trial of the job.
    """
    try:
        found = list_trials(
            engine, job_id, limit=limit, after=after, state=state, phase=phase, order=order
        )
    except KeyError:
        raise InputError("after", f"the job has no trial {after}; begin anew") from None
    following = found[-1].number if len(found) == limit else None
    return TrialPage.model_construct(
        trials=[TrialPublic.of(trial) for trial in found], next=following
    )
