"""A batch as it is kept: jobs with all that they need, so that no file is read again at night."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from db.nightly.batches import begin_batch
from jobs.specification.experiments import AnySpecification, kind_of, stored_specification
from sampler.common.errors import InputError

_MOST_BYTES = 8 * 2**20  # of all specifications together; the shipped spaces take 3 KB each


@dataclass(frozen=True)
class BatchItem:
    """One job of a batch."""

    name: str  # what it is called every night
    specification: AnySpecification  # what it measures
    priority: int = 0  # in the service's queue


@dataclass(frozen=True)
class BatchPlan:
    """A batch of jobs that are run one after another, in this order."""

    name: str
    items: tuple[BatchItem, ...]

    def digest(self) -> str:
        """The same for the same jobs under the same names."""
        parts = [self.name, *([item.name, item.specification.digest()] for item in self.items)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def outline(self) -> dict[str, Any]:
        """What the batch's row keeps: its jobs' rows have the rest."""
        items = [{"item": item.name, "digest": item.specification.digest()} for item in self.items]
        return {"name": self.name, "items": items}

    def document(self) -> dict[str, Any]:
        """All of it, as a schedule keeps it."""
        items = [
            {"item": i.name, "specification": i.specification.document(), "priority": i.priority}
            for i in self.items
        ]
        return {"name": self.name, "items": items}

    def begin(
        self, connection: Connection, *, job_why: str, submitter: str | None = None, **about: Any
    ) -> int | None:
        """Keeps the batch with all of its jobs; takes and returns what ``begin_batch`` does.

        ``job_why`` is what the jobs wait for, ``submitter`` the name of the token that asked.
        """
        jobs = [
            {
                "kind": kind_of(item.specification),
                "specification": item.specification.document(),
                "digest": item.specification.digest(),
                "priority": item.priority,
                "batch_item": item.name,
                "why": job_why,
                "submitter": submitter,
            }
            for item in self.items
        ]
        about |= {"name": self.name, "document": self.outline(), "digest": self.digest()}
        return begin_batch(connection, jobs=jobs, **about)


def plan_from_document(document: Mapping[str, Any]) -> BatchPlan:
    """Reads a kept batch back; an InputError if another version wrote what is not understood."""
    items = [
        BatchItem(i["item"], stored_specification(i["specification"]), i["priority"])
        for i in document["items"]
    ]
    return BatchPlan(document["name"], tuple(items))


def require_measured_here(specification: AnySpecification) -> None:
    """Refuses, with an InputError, a workload that a runner of the user's own measures."""
    if specification.workload.get("external"):
        name = specification.workload["name"]
        problem = f"{name!r} is measured by a runner of your own; name another in a batch"
        raise InputError("workload", problem)


def require_small(documents: Iterable[Mapping[str, Any]]) -> None:
    """Refuses, with an InputError, documents of jobs that are together too large for a batch."""
    size = 0
    for each in documents:
        size += len(json.dumps(each, default=str))
        if size > _MOST_BYTES:
            problem = f"needs more than {_MOST_BYTES:,} bytes for all of its jobs"
            raise InputError("batch", f"{problem}: split it, or leave OPTIONS files out")
