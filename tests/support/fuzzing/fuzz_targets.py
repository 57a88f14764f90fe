"""What reads what people or programs wrote, each as a function of bytes.

A target says whether it took what it was given, or fails: nothing but an ``InputError`` may come
out of what it calls, and what was read well must read the same again after it was written.
"""

from __future__ import annotations

import atexit
import gzip
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.archive import read_archive
from jobs.batch.batch_plan import read_batch
from jobs.schedule import read_times
from jobs.specification.request import parse_warm_start
from optimizer.budget.power import parse_detect
from optimizer.objective.objective import parse_limit
from optimizer.objective.objective_file import (
    objective_document,
    objective_from_document,
    parse_weights,
)
from sampler.bench.builds import facts_in_log
from sampler.bench.command_bench import last_line_metrics
from sampler.bench.output import complaint, parse_log, parse_output
from sampler.common.documents import parse_toml
from sampler.common.errors import InputError
from sampler.common.text import parse_bytes
from sampler.rocksdb.changes import changes_to, patched
from sampler.rocksdb.forms import FORMS, read_user_options, write_form
from sampler.rocksdb.measured_part import file_values, measured_part
from sampler.rocksdb.options_file import CF, format_options, parse_options
from sampler.space.space_file import space_from_document
from sampler.workload.workload_file import workload_document, workload_from_document
from tests.support.sampler.options_compared import settings_of
from tests.support.sampler.read_openings import parse_openings

if TYPE_CHECKING:
    from tests.support.fuzzing.fuzz_service import Answer

Target = Callable[[bytes], bool]
LONGEST = 65_536  # bytes of an input: some readers break only on what is long or nested deep


def output(data: bytes) -> bool:
    """What db_bench printed: never refused."""
    text = _text(data)
    parse_output(text)
    complaint(text)
    parse_openings(text)
    return True


def log(data: bytes) -> bool:
    """RocksDB's LOG: never refused."""
    text = _text(data)
    parse_log(text)
    parse_openings(text)
    facts_in_log(text)
    return True


def last_line(data: bytes) -> bool:
    """What a benchmark of the user's own printed: a sentence says why it is refused."""
    with suppress(ValueError):
        last_line_metrics(_text(data))
        return True
    return False


def options(data: bytes) -> bool:
    """An OPTIONS file: what was read is read again after it was written, and in every form."""
    text = _text(data)
    with suppress(InputError):
        found = parse_options(text)
        again = parse_options(format_options(found, rocksdb_version="7.8.3"))
        assert settings_of(again) == settings_of(found)
        own = read_user_options(text)
        file_values(own)
        measured_part(own, 8)
        changes = changes_to(own, own.with_values(CF, {"write_buffer_size": "1"}))
        for form in FORMS:
            write_form(form, patched(text, changes), ())
        return True
    return False


def space(data: bytes) -> bool:
    """A space."""
    with suppress(InputError):
        space_from_document(parse_toml(_text(data), field="--space"))
        return True
    return False


def workload(data: bytes) -> bool:
    """A workload: what was read is read again after it was written."""
    with suppress(InputError):
        found = workload_from_document(parse_toml(_text(data), field="--workload"))
        assert workload_from_document(workload_document(found)) == found
        return True
    return False


def objective(data: bytes) -> bool:
    """An objective: what was read is read again after it was written."""
    with suppress(InputError):
        found = objective_from_document(parse_toml(_text(data), field="--objective"))
        assert objective_from_document(objective_document(found)) == found
        return True
    return False


def words(data: bytes) -> bool:
    """What is written in a terminal or a query: which of them, the first byte says."""
    text = _text(data[1:])
    with suppress(InputError):
        _WORDS[data[0] % len(_WORDS) if data else 0](text)
        return True
    return False


def batch(data: bytes) -> bool:
    """A batch file."""
    with _file("batch.toml", data) as path, suppress(InputError):
        read_batch(path)
        return True
    return False


def archive(data: bytes) -> bool:
    """An archived job, packed as it should be or, by the first byte, as it came."""
    packed = data[1:] if data[:1] == b"\0" else gzip.compress(data[1:], compresslevel=1)
    with _file("job.jsonl.gz", packed) as path, suppress(InputError):
        read_archive(path)
        return True
    return False


def body(data: bytes) -> bool:
    """What is sent to submit a job."""
    from tests.support.fuzzing.fuzz_service import sent

    return _explained(sent(data))


def request(data: bytes) -> bool:
    """A request to any route, with its path, query, cookie and body."""
    from tests.support.fuzzing.fuzz_service import asked

    return _explained(asked(data))


def _explained(answer: Answer) -> bool:
    """Whether a request was taken; one that was not is the caller's fault, and told so."""
    assert answer.status < 500, answer
    taken = answer.status < 400
    assert taken or not answer.api or answer.kind == "application/problem+json", answer
    return taken


_WORDS: tuple[Callable[[str], object], ...] = (
    parse_limit,
    parse_detect,
    parse_bytes,
    parse_warm_start,
    lambda text: parse_weights(text, {"waf": "min", "rate": "max"}),
    lambda text: read_times(text, "UTC"),
    lambda text: read_times("0 3 * * *", text),
)
TARGETS: dict[str, Target] = {
    each.__name__: each
    for each in (
        output, log, last_line, options, space, workload, objective, words, batch, archive, body,
        request,
    )
}  # fmt: skip


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


@contextmanager
def _file(name: str, content: bytes) -> Iterator[Path]:
    path = _folder() / name
    path.write_bytes(content)
    yield path


@cache
def _folder() -> Path:
    memory = Path("/dev/shm")
    within = memory if memory.is_dir() else None
    made = Path(tempfile.mkdtemp(prefix="rocktune-fuzz-", dir=within))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made
