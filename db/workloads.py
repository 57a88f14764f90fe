"""The workloads that were sent to the service: a document each, with its profile and OPTIONS."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, delete, func, insert, select, update

from db.connection.engine import (
    Counted,
    change,
    now,
    read_all,
    read_first,
    take_turn,
    writing,
)
from db.schema.tables import workload
from db.schema.types import storable

MOST_WORKLOADS = 200


class WorkloadRefused(RuntimeError):
    """The name is that of another workload, or there are as many as may be."""


@dataclass(frozen=True)
class WorkloadRow:
    """A workload that was sent."""

    name: str
    document: Mapping[str, Any]
    profile: Mapping[str, Any] | None  # of the database that it stands for
    baseline_options: str | None  # the text of that database's OPTIONS file
    submitter: str | None  # the name of the token that sent it
    uploaded_at: datetime


def keep_workload(
    engine: Engine,
    document: Mapping[str, Any],
    *,
    profile: Mapping[str, Any] | None = None,
    baseline_options: str | None = None,
    submitter: str | None = None,
    replace: bool = False,
) -> bool:
    """Keeps a workload under the name in its document; whether the name is new.

    The same again changes nothing, nor does the document alone of one that is kept with more.
    Anything else stands instead of what is there only where ``replace`` says so.

    Raises:
        WorkloadRefused: The name is taken by another one, or there are ``MOST_WORKLOADS``.
        ValueError: A number in a document is not finite.
    """
    name = str(document["name"])
    sent = {
        "document": storable(document, "document"),
        "profile": None if profile is None else storable(profile, "profile"),
        "baseline_options": baseline_options,
    }
    with writing(engine) as connection:
        take_turn(connection, Counted.WORKLOADS)
        found = connection.execute(select(workload).where(workload.c.name == name)).first()
        values = {**sent, "submitter": submitter, "uploaded_at": now(connection)}
        if found is None:
            count = connection.execute(select(func.count()).select_from(workload)).scalar_one()
            if count >= MOST_WORKLOADS:
                raise WorkloadRefused(f"the limit is {count} workloads; delete one first")
            connection.execute(insert(workload).values(name=name, **values))
        elif any(value not in (None, getattr(found, each)) for each, value in sent.items()):
            if not replace:
                by = f", sent by {found.submitter}" if found.submitter else ""
                raise WorkloadRefused(
                    f"{name!r} is taken by another workload{by}; rename yours, or replace it"
                )
            connection.execute(update(workload).where(workload.c.name == name).values(**values))
    return found is None


def workload_documents(engine: Engine) -> dict[str, Mapping[str, Any]]:
    """The documents of all, by name."""
    which = select(workload.c.name, workload.c.document).order_by(workload.c.name)
    return {row.name: row.document for row in read_all(engine, which)}


def find_workload(engine: Engine, name: str) -> WorkloadRow | None:
    """The one of a name, or None."""
    found = read_first(engine, select(workload).where(workload.c.name == name))
    return None if found is None else WorkloadRow(**found._mapping)


def remove_workload(engine: Engine, name: str) -> bool:
    """Deletes one; jobs of it keep their copies. False if there is none."""
    return change(engine, delete(workload).where(workload.c.name == name)) > 0
