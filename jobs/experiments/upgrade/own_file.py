"""What a build makes of the user's OPTIONS file: what it refuses, and what it changes silently."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.experiments.upgrade.option_drift import ChangedValue, concern_of
from sampler.bench.accepted import Accepted, accepted_part
from sampler.bench.installed import InstalledDbBench
from sampler.common.errors import InputError
from sampler.options.options_file import DEFAULT_FAMILY, OptionsFile, leaves


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


def own_file(
    old: InstalledDbBench,
    new: InstalledDbBench,
    options: OptionsFile,
    *,
    drop_unknown: bool = False,
) -> OwnFile:
    """Lets both builds open a database with the user's file.

    Args:
        old: The build in use.
        new: The build that shall take its place.
        options: The default column family's part is tried.
        drop_unknown: Whether the old build may refuse options of it.

    Raises:
        InputError: The old build does not take it either.
    """
    options = options.of_family(DEFAULT_FAMILY)
    before, after = accepted_part(old, options), accepted_part(new, options)
    if before.effect is None or (before.refused and not drop_unknown):
        said = before.said or "; ".join(each.said for each in before.refused)
        problem = f"RocksDB {old.version}, the old build, refuses it: {said}"
        raise InputError(
            "--options",
            f"{problem}; give the file that you run with it, "
            "or leave those out with --drop-unknown",
        )
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
