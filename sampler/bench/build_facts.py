"""What a db_bench says of how it was built: two programs of one version need not be the same."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sampler.bench.installed import try_options
from sampler.common.errors import InputError
from sampler.options.options_file import OptionsFile

_SHA = re.compile(r"\bGit sha (\S+)$", re.MULTILINE)
_COMPILED = re.compile(r"\bCompile date (.+)$", re.MULTILINE)
_CODEC = re.compile(r"\bk(\w+) supported: ([01])$", re.MULTILINE)
_JEMALLOC = re.compile(r"\bJemalloc supported: ([01])$", re.MULTILINE)
_NO_CODEC = ("NoCompression", "DisableCompressionOption")


@dataclass(frozen=True, kw_only=True)
class BuildFacts:
    """A program, as far as it can be told from others.

    Attributes:
        version: RocksDB's, ``7.8.3``.
        digest: SHA-256 of the program's file. A library that it loads is not in it: for that
            there are ``source`` and ``compiled``.
        source: The commit that RocksDB was built from; None where the builder left it out.
        compiled: When RocksDB was compiled, as it says.
        assertions: Whether they are on: then TIME and RATE are slower than in production.
        optimised: Whether the compiler optimised it.
        codecs: The compression libraries in it, by RocksDB's names.
        jemalloc: Whether it is in; None where RocksDB does not say (7.8 does not).
    """

    version: str
    digest: str
    source: str | None
    compiled: str | None
    assertions: bool
    optimised: bool
    codecs: tuple[str, ...]
    jemalloc: bool | None

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {**asdict(self), "codecs": list(self.codecs)}


def build_facts(program: Path, *, version: str | None = None) -> BuildFacts:
    """Asks a db_bench, by writing one key: some milliseconds, and none while it stays the same.

    A program counts as the same while its path, size and time of change are. A library that was
    replaced under it shows in the next process, or at once where ``version`` tells of it.

    Args:
        program: Its path.
        version: Of RocksDB, as the program has just said.

    Raises:
        InputError: It does not work, or cannot be read.
    """
    try:
        stat = program.stat()
    except OSError as error:
        raise InputError("db_bench", f"cannot read {program}: {error.strerror}") from None
    return _asked(program, stat.st_size, stat.st_mtime_ns, version)


def read_facts(log: str) -> Mapping[str, Any]:
    """Source, date of compilation, codecs and jemalloc, from the head of RocksDB's LOG."""
    sha, compiled, jemalloc = _SHA.search(log), _COMPILED.search(log), _JEMALLOC.search(log)
    codecs = {name: on for name, on in _CODEC.findall(log) if name not in _NO_CODEC}
    return {
        # Built outside of its repository, RocksDB says 0 for the commit.
        "source": sha.group(1) if sha and sha.group(1).strip("0") else None,
        "compiled": compiled.group(1).strip() if compiled else None,
        "codecs": tuple(sorted(name for name, on in codecs.items() if on == "1")),
        "jemalloc": jemalloc.group(1) == "1" if jemalloc else None,
    }


@lru_cache(maxsize=64)
def _asked(program: Path, size: int, changed: int, version: str | None) -> BuildFacts:
    del size, changed, version
    with tempfile.TemporaryDirectory(prefix="rocktune-probe-") as folder:
        tried = try_options(program, OptionsFile({}), Path(folder))
        if tried.options is None:
            raise InputError("db_bench", f"{program} does not work: {tried.complaint}")
        try:
            log = (Path(folder) / "db" / "LOG").read_text(encoding="utf-8", errors="replace")
            digest = hashlib.sha256(program.read_bytes()).hexdigest()
        except OSError as error:
            raise InputError("db_bench", f"cannot read {error.filename}") from None
    said = " ".join(tried.warnings)
    return BuildFacts(
        version=tried.version,
        digest=digest,
        assertions="Assertions are enabled" in said,
        optimised="Optimization is disabled" not in said,
        **read_facts(log),
    )
