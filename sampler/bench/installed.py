"""The db_bench that is installed: where it is, its version, which options it knows."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sampler.bench.bench_plan import flag_arguments
from sampler.bench.output import complaint, parse_output
from sampler.common.atomic_write import PRIVATE_UMASK, write_private
from sampler.common.errors import InputError
from sampler.rocksdb.option_values import read_values, title_of, write_values
from sampler.rocksdb.options_file import (
    DB,
    OptionsFile,
    format_options,
    parse_options,
    within_its_folder,
)
from sampler.rocksdb.parameters import Parameter, Value, catalogue

_PROBE_SECONDS = 60
_FLAG = re.compile(r"^\s*-(\w+) \(", re.MULTILINE)
_FIELD = "db_bench"
_FIX = (
    "runs of the two cannot be compared. Finished trials are kept: restore the first and resume, "
    "or start a new job, which can learn from this one (`warm_start`)"
)
# Space that RocksDB takes before it needs it, which a database that is only tried must not take. A
# log of writes is given 1.1 times the write buffer at its first record, up to 70 GiB in one call
# (db_impl_open.cc, GetWalPreallocateBlockSize): of a disk with less it takes all there is for that
# moment, and whatever else is written to the disk fails.
_PREALLOCATE = "allow_fallocate"
_TRUE = "true"  # the default too (options.h)
_PREALLOCATE_LINE = re.compile(
    rf"^([^\S\n]*{_PREALLOCATE}[^\S\n]*=[^\S\n]*)([^\s#]*)", re.MULTILINE
)
_DB_HEADER = re.compile(rf"^[^\S\n]*\[\s*{DB}\s*\].*$", re.MULTILINE)


@dataclass(frozen=True)
class InstalledDbBench:
    """A db_bench that was tried."""

    program: Path  # its path
    version: str  # RocksDB's, ``7.8.3``
    # The OPTIONS file that it writes when nothing is set: the library's defaults.
    defaults: OptionsFile
    flags: frozenset[str]  # the names of all its flags
    warnings: tuple[str, ...] = ()  # what it warns of, such as a build with assertions
    digest: str | None = None  # SHA-256 of its file then; None: nobody looked
    # Parameters with a default that means "automatic": the file shows what came of it.
    automatic: frozenset[str] = frozenset()

    def knows(self, parameter: Parameter) -> bool:
        """Whether this RocksDB has the parameter."""
        # The list of codecs is left out of a file while it is not set.
        if parameter.section == "command" or parameter.key == "compression_per_level":
            return True
        if not parameter.is_option:
            return parameter.flag in self.flags
        return self.defaults.get(title_of(parameter), parameter.key) is not None

    def library_defaults(self) -> dict[str, Value]:
        """The catalogue's library defaults, corrected by what this version really uses.

        A default that means "automatic" stays so, though the file shows what came of it.
        """
        found = read_values(self.defaults, catalogue().values())
        told = {name: value for name, value in found.items() if name not in self.automatic}
        return {name: told.get(name, known.default) for name, known in catalogue().items()}


def find_db_bench(program: str) -> Path:
    """The path of db_bench.

    Raises:
        InputError: There is none.
    """
    found = shutil.which(program)
    if found is None:
        raise InputError(
            "ROCKTUNE_DB_BENCH",
            f"no {program!r} on this host; install Debian's rocksdb-tools "
            "(`apt-get install rocksdb-tools`) or set this to the path of your own db_bench",
        )
    return Path(found).absolute()


def probe(program: Path) -> InstalledDbBench:
    """Tries a db_bench on an empty OPTIONS file, which takes milliseconds.

    Raises:
        InputError: It does not run, or writes no OPTIONS file.
    """
    with tempfile.TemporaryDirectory(prefix="rocktune-probe-") as folder:
        ran = try_options(program, OptionsFile({}), Path(folder))
        if ran.options is None:
            raise InputError("ROCKTUNE_DB_BENCH", f"{program} does not work: {ran.complaint}")
        shown = _run([str(program), "--help"], Path(folder))
        return InstalledDbBench(
            program=program,
            version=ran.version,
            defaults=ran.options,
            flags=frozenset(_FLAG.findall(shown.stdout + shown.stderr)),
            warnings=ran.warnings,
            digest=program_digest(program),
            automatic=_automatic(program, ran.options),
        )


def _automatic(program: Path, defaults: OptionsFile) -> frozenset[str]:
    """Those of which the catalogue's special default comes to just what the file shows.

    A special value that is set comes to something else where this version has another default:
    ``compaction_readahead_size`` is 0 in 7.8, and 2 MiB since 8.7, where 0 still means none.
    """
    shown = read_values(defaults, catalogue().values())
    special = {n: p.default for n, p in catalogue().items() if p.default in p.special}
    special = {n: usual for n, usual in special.items() if shown.get(n, usual) != usual}
    asked = {name: catalogue()[name] for name in special}
    tried = try_options(program, write_values(OptionsFile({}), special, asked.values(), scale=1))
    if tried.options is None:
        return frozenset()
    came = read_values(tried.options, asked.values())
    return frozenset(name for name in asked if came.get(name) == shown[name])


@dataclass(frozen=True)
class TriedOptions:
    """What db_bench made of an OPTIONS file: the values in effect, or its complaint."""

    options: OptionsFile | None
    version: str
    complaint: str
    warnings: tuple[str, ...] = ()
    # What it said as it died of an assertion at the first try, where there were two.
    died: str | None = None


def try_options(
    program: Path,
    options: OptionsFile | str,
    folder: Path | None = None,
    flags: Mapping[str, Value] | None = None,
) -> TriedOptions:
    """Lets the real db_bench open a database with an OPTIONS file and write one key.

    What leads out of the folder is left out: the file may be of a database in use. Nothing is
    preallocated, which no value that is read back shows. ``folder`` is an empty one for it; None:
    one that is removed.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="rocktune-probe-") as passing:
            return try_options(program, options, Path(passing), flags)
    file, database = folder / "OPTIONS.ini", folder / "db"
    if isinstance(options, OptionsFile):
        options = format_options(options, rocksdb_version="5.0.0")
    inside = within_its_folder(options)
    tried = without_preallocation(inside)
    write_private(file, tried)
    places: dict[str, Value] = {"options_file": str(file), "db": str(database), "num": 1}
    argv = [str(program), *flag_arguments({**places, **(flags or {})}), "--benchmarks=fillseq"]
    ran, died = _run(argv, folder), None
    if ran.returncode == -signal.SIGABRT:
        # A build with assertions was seen to die of one (`sync_without_flush_called_`) that the
        # same file passed the next time.
        died = complaint(ran.stderr) or "killed by SIGABRT"
        ran = _run(argv, folder)
    printed = parse_output(ran.stdout + "\n" + ran.stderr)
    written = newest_options(database) if ran.returncode == 0 else None
    effect = as_asked(written, inside, tried) if written else None
    said = complaint(ran.stderr) or f"exit status {ran.returncode}"
    return TriedOptions(effect, printed.version or "0.0.0", said, printed.warnings, died)


def newest_options(database: Path) -> OptionsFile | None:
    """The OPTIONS file that RocksDB wrote last in a database's folder; None if it wrote none."""
    files = sorted(database.glob("OPTIONS-[0-9]*"))
    try:
        return parse_options(files[-1].read_text(encoding="utf-8")) if files else None
    except (OSError, UnicodeDecodeError, InputError):
        return None  # cut off by a kill in the middle of writing


def _run(argv: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            argv,
            cwd=folder,
            env={**os.environ, "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            umask=PRIVATE_UMASK,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except OSError as error:
        problem = f"cannot run {argv[0]}: {error.strerror or error}"
        raise InputError("ROCKTUNE_DB_BENCH", problem) from None
    except subprocess.TimeoutExpired:
        problem = f"{argv[0]} did not end within {_PROBE_SECONDS:g} s"
        raise InputError("ROCKTUNE_DB_BENCH", problem) from None


def short_digest(digest: str) -> str:
    """The first 12 digits of a SHA-256, by which people tell files apart."""
    return digest[:12]


def build_words(build: Mapping[str, Any]) -> str:
    """A build of a document in a few words: ``RocksDB 7.8.3 (SHA-256 0123456789ab)``."""
    digest = f" (SHA-256 {short_digest(build['digest'])})" if build.get("digest") else ""
    return f"RocksDB {build.get('version') or 'unknown'}{digest}"


def program_digest(program: Path) -> str:
    """SHA-256 of a program's file, which is read again only when it may be another.

    Raises:
        InputError: It cannot be read.
    """
    try:
        stat = program.stat()
        return _digest(program, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    except OSError as error:
        raise InputError(_FIELD, f"cannot read {program}: {error.strerror}") from None


def require_same_file(installed: InstalledDbBench) -> None:
    """Refuses a program that was replaced since it was tried.

    Raises:
        InputError: It was, or it is gone.
    """
    if installed.digest is not None and program_digest(installed.program) != installed.digest:
        raise InputError(_FIELD, f"{installed.program} was replaced during the job; {_FIX}")


def require_same_version(program: Path, known: str, printed: str | None) -> None:
    """Refuses a program that says another version of RocksDB: its library was replaced.

    Raises:
        InputError: It does.
    """
    if printed is not None and printed != known:
        problem = f"{program} was RocksDB {known} and is now RocksDB {printed}; {_FIX}"
        raise InputError(_FIELD, problem)


@lru_cache(maxsize=64)
def _digest(program: Path, *stat: int) -> str:
    """``stat``: whatever is not the same for another content."""
    del stat
    return hashlib.sha256(program.read_bytes()).hexdigest()


def without_preallocation(text: str) -> str:
    """The text of an OPTIONS file with preallocation off; what RocksDB refuses stays as it is."""
    lines = _PREALLOCATE_LINE.findall(text)
    if not lines:
        return _DB_HEADER.sub(lambda found: f"{found[0]}\n  {_PREALLOCATE}=false", text, count=1)
    if any(value not in {_TRUE, "1"} for _, value in lines):
        return text
    return _PREALLOCATE_LINE.sub(r"\g<1>false", text)


def as_asked(effect: OptionsFile, text: str, tried: str) -> OptionsFile:
    """What is in effect, but for preallocation where it was turned off for the trial."""
    return effect if tried == text else effect.with_values(DB, {_PREALLOCATE: _TRUE})
