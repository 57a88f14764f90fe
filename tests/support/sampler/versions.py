"""Tests that say what one version of RocksDB does, on whichever is installed."""

import pytest

from sampler.bench.builds import build_facts
from sampler.bench.installed import InstalledDbBench
from sampler.rocksdb.option_facts import OptionFact


def version_of(installed: InstalledDbBench) -> tuple[int, ...]:
    """As numbers, to compare: (7, 8, 3)."""
    return _numbers(installed.version)


def asserts(installed: InstalledDbBench) -> bool:
    """Whether its assertions are on."""
    return build_facts(installed.program).assertions


def knows(installed: InstalledDbBench, fact: OptionFact) -> bool:
    """Whether it reads an option from a file at all, by the table of facts."""
    return not fact.since or _numbers(fact.since) <= version_of(installed)


def ignores(installed: InstalledDbBench, fact: OptionFact) -> bool:
    """Whether it passes over an option, by the table of facts."""
    return bool(fact.deprecated) and _numbers(fact.deprecated) <= version_of(installed)


def default_in(fact: OptionFact, version: str) -> str:
    """An option's text in a file of a version from 7.8 on in which nothing is set, ``9.10.0``."""
    since = [text for first, text in fact.later if _numbers(first) <= _numbers(version)]
    return since[-1] if since else fact.default


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def need_before(installed: InstalledDbBench, *version: int) -> None:
    """Passes over a test of what RocksDB did before a version."""
    if version_of(installed) >= version:
        first = ".".join(map(str, version))
        pytest.skip(f"of RocksDB before {first}; here is {installed.version}")
