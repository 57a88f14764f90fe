"""From a configuration to the OPTIONS file that is measured, and to the one that is exported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sampler.catalogue import catalogue
from sampler.option_values import read_values, scaled, title_of, write_values
from sampler.options_file import CF, DB, ELSEWHERE, OptionsFile
from sampler.parameter import Parameter, Value
from sampler.space import Configuration, Space
from sampler.workload import Workload

# RocksDB then writes its counters into the LOG every second, so that a run that is cut off is
# not lost. What it costs is measured in docs/measuring.md.
DUMP_STATISTICS = {"stats_dump_period_sec": "1"}
# Left at RocksDB's defaults while measuring, with the values that change nothing: a LOG that says
# less, or begins anew, does not tell when the tree came to rest.
_LOGGING = {
    "info_log_level": ("INFO_LEVEL", "DEBUG_LEVEL"),
    "max_log_file_size": ("0",),
    "log_file_time_to_roll": ("0",),
}


@dataclass(frozen=True)
class BenchPlan:
    """What stays the same through all trials of a job.

    Attributes:
        library: The library's default of every catalogued parameter.
        baseline_file: The user's own OPTIONS file, full scale, or an empty one.
    """

    workload: Workload
    space: Space
    library: Configuration
    baseline_file: OptionsFile = field(default_factory=OptionsFile)

    def options(self, configuration: Configuration) -> OptionsFile:
        """The scaled file that a trial runs with."""
        values = self.space.complete(configuration)
        named = [p for name, p in catalogue().items() if p.scaled or self._moved(name, values)]
        own = self.baseline_file.without(DB, (*ELSEWHERE, *_LOGGING))
        options = write_values(own, values, named, scale=self.workload.scale)
        options = options.with_values(CF, self._merging()) if self._merging() else options
        return options.with_values(DB, DUMP_STATISTICS)

    def _merging(self) -> dict[str, str]:
        """The load's merge operator, a fact of the application that db_bench's flag names."""
        named = dict(self.workload.flags).get("merge_operator")
        given = self.baseline_file.get(CF, "merge_operator") not in (None, "nullptr")
        return {} if given or not named else {"merge_operator": str(named)}

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """What the user's own file says and trials do not take over."""
        return tuple(name for name in ELSEWHERE if self.baseline_file.get(DB, name))

    @property
    def unlogged(self) -> tuple[str, ...]:
        """What the user's own file says of logging and trials do not take over."""
        return tuple(
            name
            for name, usual in _LOGGING.items()
            if self.baseline_file.get(DB, name) not in (None, *usual)
        )

    def export(self, configuration: Configuration) -> OptionsFile:
        """The file for production: what differs from the library's defaults, and little else.

        A full dump would freeze today's defaults into the user's database; a tuned key whose
        default varies between versions is written even where it equals this version's.
        """
        values = self.space.complete(configuration)
        named = [
            parameter
            for name, parameter in catalogue().items()
            if self._moved(name, values) or (parameter.varies and name in configuration)
        ]
        return write_values(self.baseline_file, values, named, scale=1)

    def _moved(self, name: str, values: Configuration) -> bool:
        """Whether a value must be written: it is not what the file, or the library, has anyway."""
        start = self.space.context if self.baseline_file.sections else self.library
        if values[name] != start[name]:
            return True
        # The list of codecs by level is made of three parameters.
        others = ("compression_type", "num_levels")
        return name == "min_level_to_compress" and any(values[o] != start[o] for o in others)

    def flags(self, configuration: Configuration) -> dict[str, Value]:
        """The flags that carry what no OPTIONS file can: deployment and workload factors."""
        values = self.space.complete(configuration)
        return {
            parameter.flag: scaled(parameter, values[name], self.workload.scale)
            for name, parameter in catalogue().items()
            if parameter.section == "deployment"
        }


def effective_values(
    written: OptionsFile, configuration: Configuration, space: Space, *, scale: int
) -> tuple[dict[str, Value], tuple[str, ...]]:
    """The values in effect, from the OPTIONS file that RocksDB wrote.

    RocksDB repairs some values silently at open (column_family.cc, SanitizeOptions). A special
    value that means "automatic" stays what was asked, whatever number it became.

    Returns:
        The configuration in effect at full scale, and a line for each value that was changed.
    """
    parameters = [space.known[name] for name in configuration]
    found = read_values(written, parameters, scale=1)
    effective: dict[str, Value] = {}
    changed: list[str] = []
    for parameter in parameters:
        asked = configuration[parameter.name]
        measured = scaled(parameter, asked, scale)
        there = found.get(parameter.name, measured)
        if asked in parameter.special or _same(there, measured):
            effective[parameter.name] = asked
        else:
            effective[parameter.name] = _unscaled(parameter, there, scale)
            changed.append(f"{parameter.name}: asked {measured}, in effect {there}")
    return effective, tuple(changed)


def differences(
    intended: OptionsFile, written: OptionsFile, names: Mapping[str, Parameter]
) -> list[str]:
    """The parameters whose value in effect is not the intended one, one line each."""
    lines = []
    for name, parameter in names.items():
        if not parameter.is_option:
            continue
        title = title_of(parameter)
        asked = intended.get(title, parameter.key)
        if asked is None:
            continue
        if parameter.key == "compression_per_level":
            if written.get(title, parameter.key) != asked:
                lines.append(f"{parameter.key}: intended {asked}")
            continue
        wanted = read_values(intended, [parameter], scale=1).get(name)
        there = read_values(written, [parameter], scale=1).get(name)
        if wanted not in parameter.special and not _same(wanted, there):
            lines.append(f"{name}: intended {wanted}, in effect {there}")
    return lines


def _same(a: Value | None, b: Value | None) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and abs(float(a) - float(b)) <= 1e-6
    return a == b


def _unscaled(parameter: Parameter, value: Value, scale: int) -> Value:
    special = value in parameter.special
    return int(value) * scale if parameter.scaled and not special else value
