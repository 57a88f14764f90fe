"""The build that measures a database: of those at hand the nearest at or above its version.

An older RocksDB does not know all options of the database, and a much newer one has other defaults
and other code. Only the first two numbers of a version count: releases of one minor version differ
in mended faults. A build that the user names is never replaced.
"""

import re
from collections.abc import Mapping

from sampler.bench.accepted import build_version
from sampler.bench.builds import DEFAULT_BUILD, builds_of
from sampler.options.options_file import parse_options
from sampler.runner.settings import Settings

_VERSION = re.compile(r"\d{1,4}(\.\d{1,4}){1,2}", re.ASCII)
# What `make db_bench VERSION=...` brings beside the system's (scripts/fetch_db_bench.py).
FETCHED = ("8.10.0", "9.10.0", "9.11.2", "10.4.2", "11.8.1")


def database_version(options: str | None, told: str | None = None) -> str | None:
    """The RocksDB of a database, ``9.10.0``: by the text of its OPTIONS file, or else as told.

    None where neither says one, or what is told is no version.
    """
    numbers = parse_options(options).version if options is not None else None
    if numbers is not None:
        return ".".join(map(str, numbers))
    return told if told is not None and _VERSION.fullmatch(told) else None


def installed_versions(settings: Settings) -> dict[str, str]:
    """The versions of all builds of this host that work, by name, the one in use first.

    Raises:
        InputError: ROCKTUNE_BUILDS is no list of ``name=path``.
    """
    return {each.name: each.facts.version for each in builds_of(settings) if each.facts}


def fitting_build(database: str, builds: Mapping[str, str]) -> str | None:
    """The name of the build for a database of a version; None: the one in use.

    ``builds`` are versions by name, the one in use first. Of equally near ones the first counts.
    Without one at or above the database's version it is the newest.
    """
    wanted = build_version(database)

    def order(name: str) -> tuple[bool, int, int]:
        major, minor = build_version(builds[name])
        older = (major, minor) < wanted
        return (older, -major, -minor) if older else (older, major, minor)

    name = min(builds, key=order, default=DEFAULT_BUILD)
    return None if name == DEFAULT_BUILD else name


def fit_words(database: str, measures: str, *, named: str | None) -> list[str]:
    """What the user must know of the build that was chosen for a database; nothing where it fits.

    ``measures`` is its version, ``named`` its name; None: it is the one in use.
    """
    wanted, found = build_version(database), build_version(measures)
    if found < wanted:
        return [
            f"RocksDB {measures} measures, older than the database's {database}: options that it "
            f"does not know are not measured. {fetch_words(database, measures)}"
        ]
    nearer = next((each for each in FETCHED if wanted <= build_version(each) < found), None)
    fetch = f"; `make db_bench VERSION={nearer}` brings a nearer one" if nearer else ""
    if named is not None:
        return [
            f"RocksDB {measures} measures (build {named}): of the installed builds the nearest at "
            f"or above the database's {database}{fetch or '; `db_bench` names another'}"
        ]
    return [f"RocksDB {measures} measures, newer than the database's {database}{fetch}"] * bool(
        nearer
    )


def fetch_words(database: str, measures: str) -> str:
    """How to get a build for a database that is newer than the RocksDB that measures."""
    wanted = build_version(database)
    fitting = next((each for each in FETCHED if build_version(each) >= wanted), None)
    if fitting is not None:
        return f"`make db_bench VERSION={fitting}` brings a build that knows them"
    own = "a build of your own that does: a path as `db_bench`, or ROCKTUNE_BUILDS=NAME=PATH"
    if build_version(FETCHED[-1]) > build_version(measures):
        return f"`make db_bench VERSION={FETCHED[-1]}` brings the nearest one, or name {own}"
    return f"Name {own}"
