"""A job with all its trials as one compressed file: to keep, to publish, to go on with elsewhere.

The file is gzip over JSON lines: first what was asked for, on which machine, and what the job has
decided and remembers, then a trial a line with all that is known of it. Counters that are 0 are
left out, for they are most of a row. The same trials give the same file, byte for byte. It holds
all that the specification holds, the command of a benchmark of one's own included: look at it
before it is published.
"""

import gzip
import io
import json
import zlib
from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from db.jobs.job_store import JobStore, JobThere, restore_job
from db.schema.job_row import JobKind
from db.schema.types import storable
from db.trials.trial_log import WITHDRAWN
from db.trials.trial_rows import proposal
from jobs.specification.named_files import DOCUMENT as UNTRUSTED
from jobs.specification.named_files import (
    OPTION,
    NamedPlace,
    named_places,
    trust,
    untrusted_document,
    untrusted_names,
)
from jobs.specification.resolved_job import DOCUMENT as PRIOR
from jobs.specification.resolved_job import resolve
from jobs.specification.specification import (
    MOST_TRIALS,
    Specification,
    specification_from_document,
)
from optimizer.run.planning import ProgressTracker
from optimizer.run.ports import DECLARED_TEST, HOSTS_EXCLUDED
from optimizer.trials.problem import Prior
from optimizer.trials.trial import Basis, History, Phase, Purpose, Trial
from sampler.bench.outcome import TrialState
from sampler.common.atomic_write import write_output
from sampler.common.errors import InputError
from sampler.common.text import printable

# The longest line that a job can come to: what a request of 4 MiB sent, each character of two
# bytes written out in six.
MOST_LINE_BYTES = 16 * 2**20
# Recorded trials pack to a sixth and less, failures that each repeat one character 10,000 times to
# a hundredth or so; a bomb to a thousandth. What is small when it is unpacked is no bomb.
MOST_TIMES = 200
_HARMLESS_BYTES = 64 * 2**20


class _Counted(io.FileIO):
    """A file that knows how much of it was read, a pipe too."""

    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size) or b""
        self.taken += len(data)
        return data


def unpacked_lines(path: Path, *, field: str) -> Generator[str, None, None]:
    """The lines of a text packed with gzip, each as soon as it is unpacked.

    Raises:
        InputError: A line is longer than 16 MiB, or the file unpacks to more than 200 times its
            size and 64 MiB.
        OSError: It cannot be read, or is not packed with gzip.
        ValueError: A line is no UTF-8.
        EOFError: It ends too early.
        zlib.error: What is packed is damaged.
    """
    total = 0
    with _Counted(path) as packed, gzip.GzipFile(fileobj=packed, mode="rb") as file:
        while line := file.readline(MOST_LINE_BYTES + 1):
            total += len(line)
            if len(line) > MOST_LINE_BYTES:
                problem = f"{str(path)!r} has a line of more than {MOST_LINE_BYTES:,} bytes"
                raise InputError(field, f"{problem}; it is not an archive of a job")
            if total > max(_HARMLESS_BYTES, MOST_TIMES * packed.taken):
                problem = f"{str(path)!r} unpacks to more than {MOST_TIMES} times its size"
                raise InputError(field, f"{problem}; it is not an archive of a job")
            yield line.decode("utf-8")


SCHEMA = 1
# A job's own trials, as many as may be asked for, and as many again that were given to it: those
# cost none of its own.
MOST_KEPT = 2 * MOST_TRIALS
_MOMENTS = ("started_at", "finished_at")
# What was decided or declared once, and cannot be told from the trials: without it a job that goes
# on would decide anew. Each with what it holds at least. All else is made again from the trials.
_DOCUMENTS: Mapping[str, tuple[str, type]] = {
    PRIOR: ("jobs", list),
    HOSTS_EXCLUDED: ("hosts", dict),
    DECLARED_TEST: ("winner", int),
    WITHDRAWN: ("trials", list),
}
Documents = Mapping[str, Mapping[str, Any]]
# What is read or made of something that is no archive.
_DAMAGES = (
    ValueError, KeyError, TypeError, AttributeError, EOFError, zlib.error, RecursionError
)  # fmt: skip


@dataclass(frozen=True)
class Archive:
    """A job as a file holds it."""

    specification: Specification
    environment: Mapping[str, Any] | None  # the machine and RocksDB, once known
    trials: tuple[Trial, ...]  # by number
    # what the job has decided and remembers, by name; none in older archives
    documents: Documents = field(default_factory=dict)


def write_archive(engine: Engine, job_id: int, path: Path) -> int:
    """Writes a job to a file, whole or not at all; returns how many trials it holds.

    A KeyError if there is no such job, an InputError if the file cannot be written or read again.
    """
    store = JobStore(engine)
    row = store.job(job_id)
    if row.kind is not JobKind.TUNE:
        raise InputError("ID", f"job {job_id} is of kind {row.kind}; keep its files instead")
    head = {
        "rocktune_archive": SCHEMA,
        "specification": row.specification,
        "environment": row.environment,
    }
    found = {name: store.recall(job_id, name) for name in _DOCUMENTS}
    if documents := {name: body for name, body in found.items() if body is not None}:
        head["documents"] = documents
    trials = store.trials(job_id)
    text = io.BytesIO()
    # No name and no time in it: they would make equal contents differ.
    with gzip.GzipFile("", "wb", 9, text, mtime=0) as file:
        for document in (head, *map(_document, trials)):
            line = json.dumps(document, separators=(",", ":")).encode() + b"\n"
            if len(line) > MOST_LINE_BYTES:  # nobody could restore it
                problem = f"job {job_id} needs an archive line of {len(line):,} bytes"
                raise InputError("ID", f"{problem}; the limit is {MOST_LINE_BYTES:,}")
            file.write(line)
    write_output(path, text.getvalue(), field="FILE")
    return len(trials)


def read_archive(path: Path) -> Archive:
    """Reads a file of ``write_archive``; an InputError as soon as it proves to be another."""
    try:
        with closing(unpacked_lines(path, field="FILE")) as lines:
            head = json.loads(next(lines, ""))
            if not isinstance(head, dict) or head.get("rocktune_archive") != SCHEMA:
                raise InputError("FILE", f"{str(path)!r} is not an archive of schema {SCHEMA}")
            specification = specification_from_document(head["specification"])
            environment = head["environment"]
            if environment is not None and not isinstance(environment, dict):
                raise ValueError("its environment is not an object")
            documents = head.get("documents", {})
            _require_documents(documents)
            trials = _trials(lines)
    except InputError:
        raise
    except OSError as error:  # gzip's own errors too
        why = error.strerror or str(error)
        raise InputError("FILE", f"cannot read {str(path)!r}: {why}") from None
    except _DAMAGES as error:
        raise InputError("FILE", f"{str(path)!r} is not a complete archive: {error}") from None
    return Archive(specification, environment, trials, documents)


def _trials(lines: Iterable[str]) -> tuple[Trial, ...]:
    """The trials of an archive's lines; a ValueError at the first that no database would take."""
    kept: dict[int, Trial] = {}
    for line in lines:
        trial = _trial(json.loads(line))
        proposal(trial)
        for moment in (trial.started_at, trial.finished_at):
            if moment is not None and moment.tzinfo is None:
                raise ValueError(f"a time in trial {trial.number} has no time zone")
        if trial.number in kept:
            raise ValueError("two trials have the same number")
        if len(kept) == MOST_KEPT:
            raise ValueError(f"it holds more than {MOST_KEPT:,} trials")
        kept[trial.number] = trial
    return tuple(kept.values())


def _require_documents(documents: object) -> None:
    """Refuses, with one of ``_DAMAGES``, documents that no job could go on with today."""
    if not isinstance(documents, dict):
        raise ValueError("its documents are not an object")
    for name, body in documents.items():
        if name not in _DOCUMENTS:
            raise ValueError(f"its document {name!r} is unknown; another version wrote it")
        part, kind = _DOCUMENTS[name]
        if not isinstance(body, dict) or not isinstance(body.get(part), kind):
            raise ValueError(f"its document {name!r} has no valid {part!r}")
        storable(body, name)
    if PRIOR in documents:
        try:
            Prior.from_document(documents[PRIOR])
        except InputError as error:
            raise ValueError(str(error)) from None


@dataclass(frozen=True)
class Restored:
    """What came of restoring an archive."""

    job_id: int  # in the database
    new: bool  # False: it was there, and waited for what is trusted now
    places: tuple[NamedPlace, ...]  # all that it names
    waits: bool  # for names that are not trusted yet


def restore_archive(engine: Engine, path: Path, *, trusted: Collection[str] = ()) -> Restored:
    """Puts an archived job into a database that lacks it.

    Of the programs and files that it names, ``trusted`` are those that it may run with. One that
    is there already and waits for such a name goes on waiting for what is not among them.

    Raises:
        InputError: It is no archive, names none of a name in ``trusted``, or the database has its
            job.
    """
    archive = read_archive(path)
    places = named_places(archive.specification)
    for name in trusted:
        if name not in {each.name for each in places}:
            named = ", ".join(each.name for each in places) or "none"
            problem = f"the archive does not name {name!r:.200}; it names {named:.500}"
            raise InputError(OPTION, printable(problem))
    try:
        job_id, new = restore_archived(engine, archive, once=True, trusted=trusted), True
    except JobThere as there:
        if not trusted or not untrusted_names(engine, there.job_id):
            problem = f"{there}; restore into another database with --db"
            raise InputError("FILE", problem) from None
        job_id, new = there.job_id, False
        trust(engine, job_id, trusted)
    return Restored(job_id, new, places, bool(untrusted_names(engine, job_id)))


def restore_archived(
    engine: Engine, archive: Archive, *, once: bool = False, trusted: Collection[str] = ()
) -> int:
    """Puts a job into a database as it stood when it was archived; returns its number there.

    It waits for what it names beyond ``trusted``; see ``jobs.specification.named_files``.

    Raises:
        InputError: What it asked for is refused today.
        JobThere: With ``once``, a job of the same specification is there.
    """
    asked, trials = archive.specification, archive.trials
    scores = ProgressTracker(resolve(asked, None).problem, History(trials))
    standing = scores.progress(max(asked.trials or 0, len(trials))) if trials else None
    what = (asked.document(), asked.digest(), archive.environment)
    left = untrusted_document(asked, trusted)
    documents = {**archive.documents, **({UNTRUSTED: left} if left else {})}
    return restore_job(engine, *what, trials, standing, documents, once=once)


def _document(trial: Trial) -> dict[str, Any]:
    moments = {name: getattr(trial, name) for name in _MOMENTS}
    return asdict(trial) | {
        "point": None if trial.point is None else dict(trial.point),
        "counters": {name: count for name, count in trial.counters.items() if count},
        **{name: moment and moment.isoformat() for name, moment in moments.items()},
    }


def _trial(document: dict[str, Any]) -> Trial:
    moments = {name: document[name] for name in _MOMENTS}
    return Trial(
        **document
        | {
            "phase": Phase(document["phase"]),
            "purpose": Purpose(document["purpose"]),
            "state": TrialState(document["state"]),
            "basis": None if document.get("basis") is None else Basis(document["basis"]),
            "warnings": tuple(document["warnings"]),
            **{name: text and datetime.fromisoformat(text) for name, text in moments.items()},
        }
    )
