"""What reads what people or programs wrote, each as a function of bytes.

A target returns whatever it is given, or fails: nothing but an ``InputError`` may come out of what
it calls, and what was read well must read the same again after it was written.
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

from options_compared import settings_of

from jobs.archive import read_archive
from jobs.batch_file import read_batch
from jobs.schedule_times import read_times
from jobs.warm_start_text import parse_warm_start
from optimizer.detect_text import parse_detect
from optimizer.limit_text import parse_limit
from optimizer.objective_file import objective_document, objective_from_document
from optimizer.weights_text import parse_weights
from sampler.build_facts import read_facts
from sampler.byte_size import parse_bytes
from sampler.catalogue import catalogue
from sampler.command_bench import last_line_metrics
from sampler.db_bench_output import complaint, parse_output
from sampler.documents import read_document
from sampler.errors import InputError
from sampler.interval_stats import parse_intervals
from sampler.option_values import read_values
from sampler.options_file import format_options, parse_options
from sampler.rocksdb_log import parse_log
from sampler.space_file import space_from_document
from sampler.workload_file import workload_document, workload_from_document

Target = Callable[[bytes], None]
LONGEST = 4096  # bytes of an input: what breaks a parser is short


def output(data: bytes) -> None:
    """What db_bench printed: never refused."""
    text = _text(data)
    parse_output(text)
    complaint(text)
    parse_intervals(text)


def log(data: bytes) -> None:
    """RocksDB's LOG: never refused."""
    text = _text(data)
    parse_log(text)
    parse_intervals(text)
    read_facts(text)


def last_line(data: bytes) -> None:
    """What a benchmark of the user's own printed: a sentence says why it is refused."""
    with suppress(ValueError):
        last_line_metrics(_text(data))


def options(data: bytes) -> None:
    """An OPTIONS file: what was read is read again after it was written."""
    with suppress(InputError):
        found = parse_options(_text(data))
        again = parse_options(format_options(found, rocksdb_version="7.8.3"))
        assert settings_of(again) == settings_of(found)
        read_values(found, catalogue().values(), scale=64)


def space(data: bytes) -> None:
    """A space."""
    with suppress(InputError):
        space_from_document(read_document(_text(data), field="--space"))


def workload(data: bytes) -> None:
    """A workload: what was read is read again after it was written."""
    with suppress(InputError):
        found = workload_from_document(read_document(_text(data), field="--workload"))
        assert workload_from_document(workload_document(found)) == found


def objective(data: bytes) -> None:
    """An objective: what was read is read again after it was written."""
    with suppress(InputError):
        found = objective_from_document(read_document(_text(data), field="--objective"))
        assert objective_from_document(objective_document(found)) == found


def words(data: bytes) -> None:
    """What is written in a terminal or a query: which of them, the first byte says."""
    text = _text(data[1:])
    with suppress(InputError):
        _WORDS[data[0] % len(_WORDS) if data else 0](text)


def batch(data: bytes) -> None:
    """A batch file."""
    with _file("batch.toml", data) as path, suppress(InputError):
        read_batch(path)


def archive(data: bytes) -> None:
    """An archived job, packed as it should be or, by the first byte, as it came."""
    packed = data[1:] if data[:1] == b"\0" else gzip.compress(data[1:], compresslevel=1)
    with _file("job.jsonl.gz", packed) as path, suppress(InputError):
        read_archive(path)


def body(data: bytes) -> None:
    """What is sent to submit a job."""
    from fuzz_service import sent

    status, kind = sent(data)
    assert status < 500, status
    assert status in (200, 201, 202) or kind == "application/problem+json", (status, kind)


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
