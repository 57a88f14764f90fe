"""Programs and files that a restored job names, and whether somebody here trusts them.

An archive comes from another machine, and a job that runs executes what its specification names: a
benchmark of one's own, a ``db_bench`` by its path, a trace to replay, flags that name files. A job
that was restored with such names is listed and shown like any other, and nothing of it runs until
each name was trusted on this machine (``rocktune db restore --trust-program``). Whoever types the
same job (``rocktune tune --resume``) has named them, too.
"""

import shlex
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.leases import acquire, release, this_process_name
from db.trials.trial_log import StoredTrialLog
from jobs.specification.specification import Specification
from sampler.bench.builds import is_build_name
from sampler.common.errors import InputError
from sampler.common.untrusted_text import printable
from sampler.workload.measurable import flags_with_places
from sampler.workload.workload_file import (
    SHIPPED,
    load_workload,
    workload_document,
    workload_from_document,
)

DOCUMENT = "untrusted"
"""The job's document that lists what nobody has trusted; without one all is trusted."""
OPTION = "--trust-program"


@dataclass(frozen=True)
class NamedPlace:
    """A program or a file that a specification names."""

    field: str  # where the specification names it, such as ``workload.command``
    name: str  # what it is trusted by: the path, as the specification has it
    whole: str  # the whole command line of a program, which arguments belong to

    def words(self) -> str:
        """One line for a terminal: ``workload.command: /bin/sh -c 'make bench'``."""
        return printable(f"{self.field}: {self.whole}")


def named_places(specification: Specification) -> tuple[NamedPlace, ...]:
    """All programs and files that running a job would execute, read or write by name.

    A workload that comes with Rocktune names none, and neither does a build's name.
    """
    return tuple(_places(specification))


def _places(specification: Specification) -> Iterator[NamedPlace]:
    build = specification.db_bench
    if build is not None and not is_build_name(build):
        yield NamedPlace("db_bench", build, build)
    load = workload_from_document(specification.workload, stored=True)
    if load.name in SHIPPED and workload_document(load_workload(load.name)) == workload_document(
        load
    ):
        return
    if load.command is not None:
        argv = load.command.argv
        yield NamedPlace("workload.command", argv[0], shlex.join(argv))
    if load.trace is not None:
        yield NamedPlace("workload.trace", load.trace.path, load.trace.path)
    for field, value in flags_with_places(workload_document(load)):
        yield NamedPlace(field, str(value), str(value))


def untrusted_document(
    specification: Specification, trusted: Collection[str]
) -> dict[str, Any] | None:
    """What is kept with a restored job; None where it names nothing but what is trusted."""
    left = [each for each in named_places(specification) if each.name not in trusted]
    return {"names": [each.name for each in left]} if left else None


def untrusted_names(engine: Engine, job_id: int) -> tuple[str, ...]:
    """What a restored job names and nobody here has trusted; none of any other job."""
    return tuple((JobStore(engine).recall(job_id, DOCUMENT) or {"names": ()})["names"])


def trust(engine: Engine, job_id: int, names: Collection[str]) -> None:
    """Lets a restored job use programs and files by these names.

    Raises:
        LeaseHeld: Another process is busy with the job.
    """
    left = [name for name in untrusted_names(engine, job_id) if name not in names]
    lease = acquire(engine, job_id, this_process_name())
    try:
        StoredTrialLog(engine, lease).remember(DOCUMENT, {"names": left})
    finally:
        release(engine, lease)


def require_trusted(engine: Engine, job_id: int, field: str = "job") -> None:
    """Refuses to run anything of a restored job that names a program which nobody here trusts.

    Raises:
        InputError: It does; the message names the programs and the command that trusts them.
    """
    names = [shlex.quote(printable(name)) for name in untrusted_names(engine, job_id)]
    if not names:
        return
    options = " ".join(f"{OPTION} {name}" for name in names)
    raise InputError(
        field,
        f"job {job_id} was restored from an archive that names {', '.join(names)}, which nobody "
        f"on this machine has trusted; look at the archive, then run `rocktune db restore FILE "
        f"{options}` on the machine of the database",
    )
