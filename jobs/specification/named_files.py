"""Files and programs that jobs name: read, sent to a service, and trusted where they are restored.

An archive comes from another machine, and a job that runs executes what its specification names: a
benchmark of one's own, a ``db_bench`` by its path, a trace to replay, flags that name files. A job
that was restored with such names is listed and shown like any other, and nothing of it runs until
each name was trusted on this machine (``rocktune db restore --trust-program``). Whoever types the
same job (``rocktune tune --resume``) has named them, too.
"""

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.leases import acquire, release, this_process_name
from db.trials.trial_log import StoredTrialLog
from jobs.specification.request import NONE, JobRequest, read_request
from jobs.specification.specification import Specification, asked_for, checked, usual_objective
from optimizer.objective.objective_file import SHIPPED as OBJECTIVES
from optimizer.objective.objective_file import load_objective, objective_document, objective_text
from sampler.bench.builds import is_build_name
from sampler.common.documents import names_a_file, parse_toml
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.common.text import printable
from sampler.rocksdb.forms import other_form, read_user_options
from sampler.space.space_file import SHIPPED as SPACES
from sampler.space.space_file import space_text
from sampler.space.starting_points import known_points, names_guide, point_names
from sampler.workload.workload import Workload
from sampler.workload.workload_file import (
    SHIPPED,
    flags_with_places,
    load_workload,
    workload_document,
    workload_from_document,
    workload_text,
)
from sampler.workload.workload_file import SHIPPED as WORKLOADS

BASELINES = ("library", "db_bench")
# What a text is that names no OPTIONS file, by field.
_IS_NONE = {
    "baseline_options": "neither library, db_bench nor a readable OPTIONS file",
    "options": "not a readable OPTIONS file",
}
_NAMED = ("workload", "space", "objective", "baseline", "db_bench")
Find = Callable[[str, str], str]
"""From a setting and what is written there to the file that is meant, or what is written."""


def as_written(_: str, given: str) -> str:
    """Files are looked for where the user stands."""
    return given


def specify(*, find: Find = as_written, **settings: Any) -> Specification:
    """The job that a terminal or a nightly.toml asks for, to be run on this machine.

    ``settings`` are fields of a ``JobRequest``; None stands for what is usual. Workload, space and
    objective are catalogue names or TOML files; without an objective it is ``usual_objective``.
    The baseline is ``library``, ``db_bench``, an OPTIONS file, or the space's own; db_bench a
    build's name, the path of a program, or the host's own; starting points may be OPTIONS files.
    An InputError tells all that is wrong.
    """
    found: list[InputError] = []
    settings = {name: value for name, value in settings.items() if value is not None}
    named: dict[str, str] = {"workload": "load-quick", "space": "default"}
    for name in settings.keys() & set(_NAMED):
        value = settings[name]
        with noting(found):
            if not isinstance(value, str) or not value or "\0" in value:
                raise InputError(name, f"{value!r:.80} is not a text")
            named[name] = find(name, value)
    request, starts = JobRequest(), None
    with noting(found):
        rest = {n: v for n, v in settings.items() if n not in (*_NAMED, "start_from")}
        request = read_request(rest)
    if "start_from" in settings:
        with noting(found):
            starts = read_starts(settings["start_from"], find)
    draft, limits = asked_for(request, _named(found, **named, start_from=starts), found)
    return checked(draft, limits, found)


def _named(
    found: list[InputError],
    *,
    workload: str,
    space: str,
    objective: str | None = None,
    baseline: str | None = None,
    db_bench: str | None = None,
    start_from: Sequence[Mapping[str, Any]] | None = None,
) -> Specification:
    """A draft with all documents that can be read; ``found`` receives why others cannot."""
    documents: dict[str, Any] = {}
    usual, named, options = "paper", None, None
    with noting(found):
        read = _findable(load_workload(workload), Path(workload).parent)
        documents["workload"] = workload_document(read)
        usual = usual_objective(read)
    with noting(found):
        documents["space"] = parse_toml(space_text(space), field=f"space {space}")
    with noting(found):
        documents["objective"] = objective_document(load_objective(objective or usual))
    with noting(found):
        named, options = baseline_named(baseline)
    if db_bench is not None and "/" in db_bench:  # so that it is the same program from anywhere
        db_bench = str(Path(db_bench).expanduser().absolute())
    return Specification.model_construct(
        **documents,
        shipped_space=space in SPACES,
        baseline=named,
        baseline_options=options,
        db_bench=db_bench,
        start_from=start_from,
    )


def inlined(settings: Mapping[str, Any], *, find: Find = as_written) -> dict[str, Any]:
    """The same settings as ``POST /v1/jobs`` takes them: what files hold goes in.

    Spaces, objectives and OPTIONS files may be paths. So may a workload, whose document then
    stands there: ``POST /v1/workloads`` takes it, and the job its name. Settings with a ``kind``
    are those of an experiment.

    Raises:
        InputError: A file cannot be read, or names what cannot be sent.
    """
    found: list[InputError] = []
    asked: dict[str, Any] = {}
    for name, value in settings.items():
        with noting(found):
            if "kind" in settings and name not in ("workload", "space"):
                asked[name] = _sent(name, value, find)
            else:
                asked |= _inlined(name, value, find)
    refuse_noted(found)
    return asked


def _sent(name: str, value: Any, find: Find) -> Any:
    """A setting of an experiment; the text of an OPTIONS file in place of its path."""
    if not isinstance(value, str):
        return value
    path = find(name, value)
    if name in ("a", "b") and names_a_file(path):
        if Path(path).suffix in (".toml", ".json"):
            raise InputError(name, "cannot be a file here; write parameter=value,...")
        return {"name": Path(path).name, "options": options_text(name, path)}
    if name == "options":
        return options_text(name, path)
    if name in ("old", "new", "db_bench", "db_bench_a", "db_bench_b") and "/" in value:
        problem = f"{value!r:.80} is a path; give the name of a build on the service's hosts"
        raise InputError(name, problem)
    return value


def options_text(name: str, given: str | Path) -> str:
    """The text of an OPTIONS file that a field names, with the ends that its lines have.

    Raises:
        InputError: It cannot be read, or is not text in UTF-8.
    """
    try:
        return Path(given).read_bytes().decode("utf-8")
    except (OSError, ValueError) as error:
        shown, is_none = f"{str(given)!r:.80}", _IS_NONE.get(name)
        if isinstance(error, UnicodeDecodeError) and is_none:
            line = error.object.count(b"\n", 0, error.start) + 1
            mend = "if it is an OPTIONS file, save it as UTF-8"
            raise InputError(name, f"{shown} is not text in UTF-8 (line {line}); {mend}") from None
        is_none = is_none or "not a text file; name builds of the service's hosts"
        pasted = other_form(str(given))  # in place of a path
        raise InputError(name, pasted or f"{shown} is {is_none}") from None


def sent_workload(given: str, find: Find) -> dict[str, Any]:
    """The document of a workload's file; an InputError of one that cannot be read."""
    return parse_toml(workload_text(find("workload", given)), field=f"workload {given}")


def _inlined(name: str, value: Any, find: Find) -> dict[str, Any]:
    if name == "workload" and isinstance(value, list):
        return {name: [_inlined(name, each, find)[name] for each in value]}
    if name == "workload" and str(value).endswith(".toml"):
        return {name: sent_workload(str(value), find)}
    if name in ("space", "objective"):
        known, text = (SPACES, space_text) if name == "space" else (OBJECTIVES, objective_text)
        if value in known or not isinstance(value, str):
            return {name: value}
        return {name: parse_toml(text(find(name, value)), field=f"{name} {value}")}
    if name == "baseline" and value not in BASELINES:
        return {"baseline_options": options_text("baseline_options", find(name, str(value)))}
    if name == "start_from":
        rows = read_starts(value, find)
        sent = [each if "options" in each else each["name"] for each in rows or ()]
        return {name: None if rows is None else sent}
    return {name: value}


def baseline_named(given: str | None) -> tuple[str | None, str | None]:
    """The name of a baseline, or the text of the OPTIONS file that is one; else an InputError."""
    if given is None or given in BASELINES:
        return given, None
    text = options_text("baseline_options", given)
    read_user_options(text, name=f"baseline_options {given}")
    return None, text


def read_starts(given: object, find: Find) -> list[dict[str, Any]] | None:
    """What names of starting points and OPTIONS files stand for, with the text of each file.

    None where nothing is given: then the strategy decides. An InputError of a file that cannot be
    read.
    """
    if not isinstance(given, list) or not all(isinstance(each, str) and each for each in given):
        raise InputError("start_from", "write a list: ['benchmark.sh', 'my.ini'] or ['none']")
    if not given:
        return None
    found: list[InputError] = []
    asked: list[dict[str, Any]] = []
    for each in [find("start_from", name) for name in given]:
        if each == NONE or each in known_points() or names_guide(each):
            asked.append({"name": each})
            continue
        path = Path(each)
        try:
            asked.append({"name": path.name, "options": path.read_text(encoding="utf-8")})
        except (OSError, ValueError):
            names = ", ".join(point_names())
            problem = f"{each!r} is not one of {names}, none or a readable OPTIONS file"
            found.append(InputError("start_from", problem))
    refuse_noted(found)
    return asked


def _findable(workload: Workload, beside: Path) -> Workload:
    """A workload whose own program is named so that it is found from anywhere.

    A relative path is meant from where the user stands, or else from beside the workload's file.
    """
    command = workload.command
    if command is None or "/" not in command.argv[0]:
        return workload
    here, near = Path(command.argv[0]), beside / command.argv[0]
    program = here if here.exists() or not near.exists() else near
    argv = (str(program.absolute()), *command.argv[1:])
    return replace(workload, command=replace(command, argv=argv))


@cache
def _shipped_workloads() -> Mapping[str, Mapping[str, Any]]:
    """The documents of the shipped workloads, whose files are read once a process."""
    return {name: workload_document(load_workload(name)) for name in WORKLOADS}


def registered_workloads(folder: Path | None) -> dict[str, Mapping[str, Any]]:
    """The documents of all workloads that jobs over HTTP may name: no request becomes a path.

    A file of the folder that is wrong, or takes a name that is taken, is an InputError.
    """
    documents = dict(_shipped_workloads())
    if folder is None:
        return documents
    if not folder.is_dir():
        raise InputError("ROCKTUNE_WORKLOADS_DIR", f"{str(folder)!r} is not a folder")
    for path in sorted(folder.glob("*.toml")):
        try:
            document = workload_document(_findable(load_workload(str(path)), folder))
        except InputError as error:
            raise InputError(f"ROCKTUNE_WORKLOADS_DIR ({path.name})", str(error)) from None
        name = document["name"]
        if name in documents:
            problem = f"the name {name!r} is taken; rename the workload in this file"
            raise InputError(f"ROCKTUNE_WORKLOADS_DIR ({path.name})", problem)
        documents[name] = document
    return documents


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
