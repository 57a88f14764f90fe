"""What a build makes of the user's OPTIONS file: what it refuses, and what it changes silently."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from jobs.upgrade.option_drift import ChangedValue, concern_of, leaves
from sampler.errors import InputError
from sampler.installed import InstalledDbBench, try_options
from sampler.options_file import OptionsFile

_WORD = re.compile(r"[\w.]+")


@dataclass(frozen=True, kw_only=True)
class RefusedOption:
    """An option of a file that a build does not take.

    Attributes:
        said: RocksDB's own words.
    """

    section: str
    key: str
    value: str
    said: str


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """What a build takes of a file.

    Attributes:
        part: The file without what is refused; None where that could not be told.
        effect: The values in effect with that part; None where there is none.
        refused: What had to be left out.
        said: RocksDB's words where nothing could be left out to make it work, else empty.
    """

    part: OptionsFile | None
    effect: OptionsFile | None
    refused: tuple[RefusedOption, ...]
    said: str = ""


@dataclass(frozen=True, kw_only=True)
class OwnFile:
    """The user's file under the old and the new build.

    Attributes:
        accepted: What the new build takes of it.
        changed: Options that the file names and that have another value in effect.
    """

    accepted: Accepted
    changed: tuple[ChangedValue, ...]

    @property
    def opens(self) -> bool:
        """Whether the new build takes the file as it is."""
        return self.accepted.part is not None and not self.accepted.refused


def own_file(old: InstalledDbBench, new: InstalledDbBench, options: OptionsFile) -> OwnFile:
    """Lets both builds open a database with the user's file.

    Raises:
        InputError: The old build does not take it either.
    """
    before, after = accepted_part(old, options), accepted_part(new, options)
    if before.effect is None or before.refused:
        said = before.said or before.refused[0].said
        problem = f"RocksDB {old.version}, the old build, refuses it: {said}"
        raise InputError("--options", f"{problem}; give the file that you run with it")
    changed = []
    for (section, key), _ in leaves(options) if after.effect else ():
        assert after.effect is not None
        was, now = before.effect.get(section, key), after.effect.get(section, key)
        if was is not None and now is not None and was != now:
            concern = concern_of(section, key)
            changed.append(
                ChangedValue(section=section, key=key, old=was, new=now, concern=concern)
            )
    return OwnFile(accepted=after, changed=tuple(changed))


def accepted_part(build: InstalledDbBench, options: OptionsFile) -> Accepted:
    """The file without the options that a build complains of, found by trying.

    RocksDB names one option at a time; each is left out until it opens.
    """
    refused: list[RefusedOption] = []
    for _ in range(1 + sum(1 for _ in leaves(options))):
        with tempfile.TemporaryDirectory(prefix="rocktune-probe-") as folder:
            tried = try_options(build.program, options, Path(folder))
        if tried.options is not None:
            return Accepted(part=options, effect=tried.options, refused=tuple(refused))
        found = _named_in(tried.complaint, options)
        if found is None:
            break
        section, key, value = found
        refused.append(RefusedOption(section=section, key=key, value=value, said=tried.complaint))
        options = _without(options, section, key)
    return Accepted(part=None, effect=None, refused=tuple(refused), said=tried.complaint)


def _named_in(complaint: str, options: OptionsFile) -> tuple[str, str, str] | None:
    """The option of the file that a complaint is about, whole keys before fields."""
    words = set(_WORD.findall(complaint))
    named = [(s, k, text) for (s, k), text in leaves(options) if k.rpartition(".")[2] in words]
    named.sort(key=lambda each: "." in each[1])
    return named[0] if named else None


def _without(options: OptionsFile, section: str, key: str) -> OptionsFile:
    """A copy without a key; a structure goes with any of its fields."""
    return options.without(section, [key.partition(".")[0]])
