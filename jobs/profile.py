"""A user's database, LOG or trace, made into the files that a job is asked with."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sampler.bench.accepted import build_version
from sampler.bench.builds import (
    DEFAULT_BUILD,
    database_version,
    fit_words,
    fitting_build,
    installed_build,
    installed_versions,
)
from sampler.bench.query_trace import is_trace
from sampler.bench.settings import Settings
from sampler.bench.user_options import user_options
from sampler.common.atomic_write import write_output
from sampler.common.errors import InputError
from sampler.profile.application_objects import with_cache
from sampler.profile.load import ChosenLoad, choose_load, load_toml, replayed_load
from sampler.profile.profile import DatabaseProfile, FamilyProfile, profile_document
from sampler.profile.reading import read_profile
from sampler.rocksdb.option_facts import usual_number
from sampler.rocksdb.option_values import whole_number
from sampler.rocksdb.options_file import OptionsFile, parse_options
from sampler.workload.workload import least_user_bytes

OPTIONS = "OPTIONS.database"
_PLAIN = re.compile(r"[^\w.-]+", re.ASCII)


@dataclass(frozen=True)
class Profiled:
    """A profile, the family that is taken of it, and its load."""

    profile: DatabaseProfile
    family: FamilyProfile
    chosen: ChosenLoad

    def long_enough(self) -> Profiled:
        """The same, with a load that writes enough to be tuned by.

        Of a database that wrote less than 16 times its write buffers most is still in memory: then
        the load is that of a larger database of the same kind.
        """
        load, family = self.chosen.workload, self.family.name
        buffer = _option(self.profile, family, "write_buffer_size")
        number = _option(self.profile, family, "max_write_buffer_number")
        least = least_user_bytes(buffer * number, load.scale)
        times = 1.1 * least / max(1, load.loaded_bytes())
        if load.trace or times <= 1.1:
            return self
        longer = choose_load(
            self.profile, self.family, name=load.name, write_buffer=buffer, times=times
        )
        said = (
            "how little the database wrote, less than 16 times its write buffers: the workload "
            f"models one {times:.3g} times as large; the check used the smaller one"
        )
        return replace(self, chosen=replace(longer, not_expressed=(said, *longer.not_expressed)))

    @property
    def others(self) -> list[str]:
        """The names of the other column families."""
        return [each.name for each in self.profile.families if each.name != self.family.name]

    def build_lines(self, settings: Settings) -> list[str]:
        """What the user must know of the build of this host that measures where none is named.

        Beside an older one: the options of the database that it does not know.
        """
        options = self.profile.options
        version = database_version(options, self.profile.version)
        builds = installed_versions(settings) if version else {}
        if version is None or not builds:
            return []
        name = fitting_build(version, builds)
        measures = builds[name or DEFAULT_BUILD]
        lines = fit_words(version, measures, named=name)
        if options is not None and build_version(measures) < build_version(version):
            installed, family = installed_build(name, settings), self.family.name
            own = user_options(options, installed, family=family, drop_unknown=True)
            lost = ", ".join(sorted(key for _, key in own.dropped))
            lines += [f"It does not take: {lost}"] * bool(lost)
        return lines

    def document(self, workload: Path) -> dict[str, Any]:
        """What ``rocktune profile --json`` prints; ``workload`` is where the load was written."""
        return {
            **profile_document(self.profile),
            "workload": str(workload),
            "column_family": self.family.name,
            "not_expressed": list(self.chosen.not_expressed),
        }

    def require_unwritten(self, workload: Path, options: Path, *, named: bool = False) -> None:
        """Refuses to replace files that say something else and that nobody has named.

        ``named``: the user names the workload file, so it may be replaced, and with it the OPTIONS
        file that an earlier profile wrote beside it.

        Raises:
            InputError: One does, and may be the user's own.
        """
        for path, text in ((workload, load_toml(self.chosen)), (options, self.profile.options)):
            if text is None or (named and (path == workload or workload.exists())):
                continue
            try:
                if path.exists() and path.read_bytes() != text.encode():
                    problem = f"{str(path)!r} already exists and differs"
                    fix = f"move it away, or name {'another' if named else 'a'} file with `out`"
                    raise InputError("out", f"{problem}; {fix}")
            except OSError as error:
                problem = f"{str(path)!r} already exists and cannot be read: {error.strerror}"
                raise InputError("out", problem) from None

    def write(self, workload: Path, options: Path | None = None) -> None:
        """Writes the workload file, and the database's OPTIONS where they are known.

        Raises:
            InputError: One cannot be written.
        """
        write_output(workload, load_toml(self.chosen).encode())
        if options is not None and self.profile.options is not None:
            write_output(options, self.profile.options.encode())


def load_name(path: Path) -> str:
    """What a load is called by the database that it is made of.

    Raises:
        InputError: ``path`` cannot be looked at.
    """
    whole = path.resolve()
    is_file = _seen(whole, Path.is_file)
    name = whole.stem if is_trace(path) else whole.parent.name if is_file else whole.name
    return _PLAIN.sub("-", name).strip("-.")[:60] or "database"


def profiled(
    path: Path,
    *,
    column_family: str | None = None,
    scale: int | None = None,
    replay: bool = False,
    told: Callable[[str], None] = lambda _: None,
) -> Profiled:
    """Reads a database's folder, LOG or trace, and chooses the load of one column family.

    Without ``column_family`` it is the one that most is written into. ``replay``: the load
    replays the trace itself.

    Raises:
        InputError: It is none of them, it tells of no load, or the family is not there.
    """
    if replay and not is_trace(path):
        raise InputError("replay", f"{str(path)!r} is not a trace; give a trace or omit this")
    profile = read_profile(path, told=told)
    family = profile.family(column_family or profile.busiest())
    if profile.options is not None:
        text = with_cache(profile.options, family.name, family.block_cache)
        profile = replace(profile, options=text)
    name = load_name(path)
    if replay:
        return Profiled(profile, family, replayed_load(profile, family, path.resolve(), name=name))
    buffer = _option(profile, family.name, "write_buffer_size")
    load = choose_load(profile, family, name=name, write_buffer=buffer, scale=scale)
    return Profiled(profile, family, load)


def _option(profile: DatabaseProfile, family: str, name: str) -> int:
    """A number above 0 of the family's options; RocksDB's default where they tell none."""
    options = parse_options(profile.options) if profile.options else OptionsFile()
    told = whole_number(options.get(f'CFOptions "{family}"', name)) or 0
    return told if told > 0 else usual_number(name)


def require_outside(path: Path, written: Path) -> None:
    """Refuses to write into the database's folder.

    Raises:
        InputError: The file would be in it, or ``path`` cannot be looked at.
    """
    is_folder = _seen(path, Path.is_dir)
    folder = path.resolve() if is_folder else path.resolve().parent
    if not is_folder and not any(folder.glob("MANIFEST-*")):
        return  # a LOG or a trace that lies elsewhere
    if folder in (written.resolve(), *written.resolve().parents):
        raise InputError(
            "out", f"{str(written)!r} is in the database's folder; name another place"
        )


def _seen(path: Path, what: Callable[[Path], bool]) -> bool:
    """Whether a path is of a kind; where its folder may not be searched that is said."""
    try:
        return what(path)
    except OSError as error:
        raise InputError(f"database {path}", f"cannot be read: {error.strerror}") from None
