"""The RocksDB builds that a job over HTTP may name. Names only: a path would run any program."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from sqlalchemy import Engine

from api.http.problems import shortened
from db.hosts import read_hosts
from sampler.bench.builds import DEFAULT_BUILD, installed_build, is_build_name, named_programs
from sampler.bench.installed import InstalledDbBench
from sampler.common.errors import InputError
from sampler.runner.settings import Settings

_FIELD = "db_bench"


@dataclass(frozen=True)
class KnownBuilds:
    """Who has which builds."""

    # The builds of this machine by name, where it measures; None for one that does not work.
    here: Mapping[str, InstalledDbBench | None] = field(default_factory=dict)
    # The names that other hosts advertise; asked only when it must be known.
    elsewhere: Callable[[], Collection[str]] = tuple

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the builds of this machine that work, by name."""
        return {name: build.version for name, build in self.here.items() if build}

    def find(self, name: str) -> InstalledDbBench | None:
        """The build of that name, where it is on this machine and works.

        While no host has said what it has, any name may turn out to be known; afterwards one that
        no host has is an InputError, as is what is no name.
        """
        if not is_build_name(name):
            problem = f"{shortened(name)} is not a build's name; paths are not accepted over HTTP"
            raise InputError(_FIELD, f"{problem}; /v1/hosts lists the builds")
        if name == DEFAULT_BUILD or name in self.here:
            return self.here.get(name)
        known = sorted({*self.here, *self.elsewhere()})
        if known and name not in known:
            names = ", ".join(known)
            raise InputError(_FIELD, f"no host has a build {name!r}; choose one of {names}")
        return None


def builds_here(settings: Settings, default: InstalledDbBench | None) -> KnownBuilds:
    """The builds of this machine, ``default`` in use; an InputError of a wrong ROCKTUNE_BUILDS."""
    here: dict[str, InstalledDbBench | None] = {}
    for name in named_programs(settings):
        here[name] = None
        with suppress(InputError):
            here[name] = default if name == DEFAULT_BUILD else installed_build(name, settings)
    return KnownBuilds({DEFAULT_BUILD: default} | here)


def names_on_hosts(engine: Engine) -> set[str]:
    """The names of all builds that hosts advertise and that work there."""
    known = [build for h in read_hosts(engine) for build in h.environment.get("builds") or ()]
    return {build["name"] for build in known if build["problem"] is None}
