"""How steady each bench host was in the newest jobs that it measured for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Engine, select

from db.connection.transactions import reading
from db.schema.job_row import JobState
from db.schema.tables import job

_JOBS = 50  # looked at, the newest first


@dataclass(frozen=True)
class HostNoise:
    """The scatter of a host's runs of the baseline in one job.

    Attributes:
        job_id: The newest job with it.
        workload: Its workload.
        spread: By metric, the standard deviation over the median; None: too few runs.
        set_aside: Why the job did without the host; None: it did not.
    """

    job_id: int
    workload: str
    spread: Mapping[str, float | None]
    set_aside: str | None


def host_noise(engine: Engine) -> dict[str, HostNoise]:
    """By host, from the newest finished job that it had a baseline in."""
    hosts, workload = job.c.result["hosts"], job.c.specification[("workload", "name")]
    which = (
        select(job.c.id, hosts, workload.as_string())
        .where(job.c.state == JobState.DONE.value)
        .order_by(job.c.id.desc())
        .limit(_JOBS)
    )
    found: dict[str, HostNoise] = {}
    with reading(engine) as connection:
        for job_id, measured, name in connection.execute(which):
            for each in measured or ():
                if each["baseline"] and each["name"] is not None:
                    spread = each["baseline"]["spread"]
                    aside = each.get("set_aside")
                    found.setdefault(each["name"], HostNoise(job_id, name, spread, aside))
    return found
