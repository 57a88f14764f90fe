"""The db_bench in use: is it there, how was it built, which codecs are in it?"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from jobs.doctor.finding import Finding, Level
from sampler.bench.bench_plan import BenchPlan
from sampler.bench.installed import InstalledDbBench, find_db_bench, probe, try_options
from sampler.common.errors import InputError

_CODEC = "compression_type"


def read_db_bench(program: str) -> InstalledDbBench | str:
    """The db_bench, tried; or in one line why there is none to use."""
    try:
        return probe(find_db_bench(program))
    except InputError as error:
        return error.problem


def refused_codecs(installed: InstalledDbBench, plan: BenchPlan) -> tuple[str, ...]:
    """The codecs that the space may draw, or starts from, and this db_bench does not have."""
    drawn = plan.space.by_name.get(_CODEC)
    start = plan.space.default_configuration()
    codecs = drawn.values if drawn else (plan.space.context[_CODEC],)
    refused = []
    for codec in codecs:
        with tempfile.TemporaryDirectory(prefix="rocktune-probe-") as folder:
            options = plan.options({**start, _CODEC: codec})
            if try_options(installed.program, options, Path(folder)).options is None:
                refused.append(str(codec))
    return tuple(refused)


def judge_db_bench(
    found: InstalledDbBench | str, refused: Sequence[str], *, needed: bool = True
) -> list[Finding]:
    """Judges it.

    Args:
        found: The program, or why there is none.
        refused: Codecs that it does not have.
        needed: Whether the workload is measured by db_bench at all.
    """
    if isinstance(found, str):
        if not needed:
            return [Finding("db_bench", Level.OK, f"not needed by this workload ({found})")]
        advice = "`apt-get install rocksdb-tools`, or set ROCKTUNE_DB_BENCH to one that works"
        return [Finding("db_bench", Level.PROBLEM, found.split(";")[0], advice)]
    findings = [Finding("db_bench", Level.OK, f"{found.program}, RocksDB {found.version}")]
    findings += [_build(warning) for warning in found.warnings]
    if not found.warnings:
        findings.append(Finding("build", Level.OK, "optimised, without assertions"))
    if refused:
        shown = f"without {', '.join(refused)}: configurations that ask for them will fail"
        advice = "build RocksDB with them, or take them out of the space"
        findings.append(Finding("codecs", Level.WARNING, shown, advice))
    return findings


def _build(warning: str) -> Finding:
    """What db_bench says of its own build (db_bench_tool.cc, PrintWarnings)."""
    if "Optimization is disabled" in warning:
        advice = "build with DEBUG_LEVEL=0: unoptimised code has other bottlenecks"
        return Finding("build", Level.PROBLEM, warning, advice)
    if "Assertions are enabled" in warning:
        advice = (
            "compare configurations, not absolute figures; for those build RocksDB with "
            "DEBUG_LEVEL=0 and set ROCKTUNE_DB_BENCH (Debian's package has assertions)"
        )
        return Finding("build", Level.WARNING, warning, advice)
    return Finding("build", Level.WARNING, warning, "see to it that your production build agrees")
