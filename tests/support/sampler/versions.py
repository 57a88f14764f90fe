"""Tests that say what one version of RocksDB does, on whichever is installed."""

import pytest

from sampler.bench.builds import build_facts
from sampler.bench.installed import InstalledDbBench
from sampler.rocksdb.option_facts import OptionFact, version_numbers


def version_of(installed: InstalledDbBench) -> tuple[int, ...]:
    """As numbers, to compare: (7, 8, 3)."""
    return version_numbers(installed.version)


def asserts(installed: InstalledDbBench) -> bool:
    """Whether its assertions are on."""
    return build_facts(installed.program).assertions


def knows(installed: InstalledDbBench, fact: OptionFact) -> bool:
    """Whether it reads an option from a file at all, by the table of facts."""
    return not fact.since or version_numbers(fact.since) <= version_of(installed)


def ignores(installed: InstalledDbBench, fact: OptionFact) -> bool:
    """Whether it passes over an option, by the table of facts."""
    return bool(fact.deprecated) and version_numbers(fact.deprecated) <= version_of(installed)


def need_before(installed: InstalledDbBench, *version: int) -> None:
    """Passes over a test of what RocksDB did before a version."""
    if version_of(installed) >= version:
        first = ".".join(map(str, version))
        pytest.skip(f"of RocksDB before {first}; here is {installed.version}")
