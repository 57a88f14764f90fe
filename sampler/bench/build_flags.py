"""Benchmarks and flags of a load that this build of db_bench does not have, or does not look at.

``option_flags.csv`` tells of the versions whose sources were read. A newer build may have flags
that are in none of them: what it does with those is found out by trying.
"""

import difflib
import tempfile
from collections.abc import Mapping
from pathlib import Path

from sampler.bench.installed import InstalledDbBench, newest_options, try_options
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.options.option_flags import option_flags
from sampler.options.options_file import OptionsFile
from sampler.parameters.parameter import Value
from sampler.workload.workload import Workload

_READ = ((6, 20), (11, 8))  # the versions whose sources option_flags.csv was made of


def require_supported(installed: InstalledDbBench, workload: Workload) -> None:
    """Refuses benchmarks and flags that the build does not know, or takes in silence and ignores.

    Raises:
        InputError: It has such a benchmark or flag; the message names it.
        InputErrors: It has several.
    """
    found: list[InputError] = []
    given = [("flags", workload.flags)]
    for run in (*workload.runs, *(workload.prepare.runs if workload.prepare else ())):
        if build_version(installed.version) < run.benchmark.since:
            problem = f"has no {run.benchmark.name}; it came later"
            problem = f"db_bench of RocksDB {installed.version} {problem}"
            found.append(InputError("workload.benchmarks", problem))
    if workload.prepare:
        given.append(("prepare.flags", workload.prepare.flags))
    for where, flags in given:
        for name, value in flags:
            with noting(found):
                _require_flag(installed, f"{where}.{name}", name, value)
    refuse_noted(found)


def _require_flag(installed: InstalledDbBench, field: str, name: str, value: Value) -> None:
    if installed.flags and name not in installed.flags:
        near = difflib.get_close_matches(name, installed.flags, n=3)
        fix = f"did you mean {' or '.join(near)}?" if near else "leave it out"
        raise InputError(field, f"db_bench of RocksDB {installed.version} has no such flag; {fix}")
    if name in option_flags() or _READ[0] <= build_version(installed.version) <= _READ[1]:
        return
    sections = ignored_options(installed.program, {name: value})
    if sections:
        keys = ", ".join(f"{key} in [{title}]" for title, key in sections)
        raise InputError(
            field,
            "is an option of RocksDB, which db_bench ignores beside an OPTIONS file; write "
            f"{keys} of an OPTIONS file for --baseline",
        )


def build_version(text: str) -> tuple[int, int]:
    """The first two numbers of a version."""
    major, minor, *_ = (*map(int, text.split(".")), 0)
    return major, minor


def ignored_options(
    program: Path, flags: Mapping[str, Value]
) -> tuple[tuple[str, str], ...] | None:
    """Sections and keys of options that flags set without an OPTIONS file, and not beside one.

    Four databases of one key are made: some tenths of a second. None where the build does not take
    the flags.
    """
    without, beside = (_changed(program, flags, with_file=each) for each in (False, True))
    return None if without is None or beside is None else tuple(sorted(without - beside))


def _changed(
    program: Path, flags: Mapping[str, Value], *, with_file: bool
) -> set[tuple[str, str]] | None:
    """Sections and keys of the OPTIONS file that RocksDB writes otherwise because of flags."""
    usual, given = (_written(program, each, with_file=with_file) for each in ({}, flags))
    if usual is None or given is None:
        return None
    return {
        (title, key)
        for title, keys in given.sections.items()
        for key, text in keys.items()
        if usual.sections.get(title, {}).get(key) != text
    }


def _written(program: Path, flags: Mapping[str, Value], *, with_file: bool) -> OptionsFile | None:
    with tempfile.TemporaryDirectory(prefix="rocktune-probe-") as folder:
        if with_file:
            return try_options(program, OptionsFile({}), Path(folder), flags).options
        # The last flag of a name counts: without a file its name is empty.
        alone = {**flags, "options_file": ""}
        ran = try_options(program, OptionsFile({}), Path(folder), alone)
        return newest_options(Path(folder) / "db") if ran.options else None
