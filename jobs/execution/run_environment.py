"""The machine and the RocksDB that a job is measured on, as its result tells."""

from __future__ import annotations

from typing import Any

from jobs.execution.assembly import Assembly
from sampler.bench.builds import build_facts
from sampler.bench.installed import InstalledDbBench
from sampler.machine.machine import fingerprint
from sampler.runner.settings import Settings


def environment_of(assembly: Assembly, settings: Settings) -> dict[str, Any]:
    """The machine, the RocksDB, and what must be known of either."""
    installed = assembly.installed
    return fingerprint(settings.bench_dir) | {
        "rocksdb": installed.version if installed else None,
        "db_bench": str(installed.program) if installed else None,
        "build": _build(installed) if installed else None,
        "warnings": [*(installed.warnings if installed else ()), *assembly.warnings],
    }


def _build(installed: InstalledDbBench) -> dict[str, Any]:
    return build_facts(installed.program, version=installed.version).document()
