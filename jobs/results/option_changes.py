"""What a job's best configuration changes: against the baseline, and in the OPTIONS file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from db.schema.job_row import JobRow
from jobs.results.figures import option_value
from jobs.specification.resolved_job import resolve_stored
from sampler.rocksdb.application import application_steps
from sampler.rocksdb.changes import Change, Steps, steps_of
from sampler.rocksdb.measured_part import without_derived
from sampler.rocksdb.normal_form import read_user_options
from sampler.rocksdb.option_values import title_of, write_values
from sampler.rocksdb.options_file import OptionsFile, leaves, parse_options
from sampler.rocksdb.parameters import Parameter, catalogue


@dataclass(frozen=True)
class ChangedOption:
    """An option of which two configurations hold different values."""

    name: str
    before: str  # before, after: the values for people; ``inactive`` where there is none
    after: str
    factor: bool  # whether it is a property of the load


def changed_options(baseline: Mapping[str, Any], best: Mapping[str, Any]) -> list[ChangedOption]:
    """The options of a configuration that differ from the baseline's, in its order."""
    known, found = catalogue(), []
    for name in dict.fromkeys([*best, *baseline]):
        values = (baseline.get(name), best.get(name))
        if values[0] == values[1]:
            continue
        before, after = (_short(value, known.get(name)) for value in values)
        if before == after:  # they differ by less than is shown
            before, after = map(str, values)
        factor = name in known and known[name].section == "workload"
        found.append(ChangedOption(name, before, after, factor))
    return found


def _short(value: Any, parameter: Parameter | None) -> str:
    return "inactive" if value is None else option_value(value, parameter)


def value_words(value: Any, parameter: Parameter | None) -> str:
    """A value as a table shows it: bytes with their unit beside; None is ``inactive``."""
    if value is None:
        return "inactive"
    shown = option_value(value, parameter)
    return shown if shown == str(value) else f"{value} ({shown})"


def values_outside_file(result: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """What the best configuration sets that no OPTIONS file carries, by section.

    A block cache that was not changed is left out: its size may be RocksDB's default, where
    nothing tells that of the application.
    """
    known, before = catalogue(), result["baseline"]["configuration"]
    apart: dict[str, list[tuple[str, str]]] = {"deployment": [], "workload": []}
    for name, value in (result["best"] or {}).get("configuration", {}).items():
        kept = name in known and known[name].section == "deployment" and before.get(name) == value
        if name in known and known[name].section in apart and not kept:
            said = value_words(value, known[name])
            apart[known[name].section].append((known[name].key or name, said))
    return apart


@dataclass(frozen=True)
class OptionLine:
    """An option that the two files do not have alike."""

    # section, key: where it stands; `struct.field` for a field of a structure
    section: str
    key: str
    before: str | None  # what the baseline's file says; None: it does not name the option
    after: str | None  # what the job's file says; None likewise
    # RocksDB's own value, for the side that does not name it; None: not known here
    default: str | None
    parameter: str | None  # its name in the space; None of an option that is not in the catalogue
    is_bytes: bool  # whether it is a size
    help: str

    @property
    def differs(self) -> bool:
        """Whether more differs than that one side names the default."""
        return self.change.before != self.change.after

    @property
    def change(self) -> Change:
        """With RocksDB's own value for the side that does not name it."""
        sides = [self.default if said is None else said for said in (self.before, self.after)]
        return Change(self.section, self.key, *sides)


def options_diff(job: JobRow, result: Mapping[str, Any], text: str) -> list[OptionLine]:
    """What the text of a job's file changes, in the order of the file."""
    plan = resolve_stored(job).plan
    own = plan.baseline_file
    # What RocksDB's defaults were is known by the job better than by the catalogue.
    before = dict(leaves(plan.export(result["baseline"].get("configuration") or {})))
    file = read_user_options(text, family=own.family)
    # What RocksDB works out by itself stays in a user's file.
    stated = {*dict(leaves(without_derived(file))), *before}
    after = {place: said for place, said in leaves(file) if place in stated}
    known = {(title_of(each), each.key): each for each in catalogue().values() if each.is_option}
    lines = []
    for place in dict.fromkeys([*after, *before]):
        parameter, default = known.get(place), None
        if parameter is not None:
            written = write_values(OptionsFile(), plan.library, [parameter], scale=1)
            default = written.get(*place)
        line = OptionLine(
            own.own_title(place[0]),
            place[1],
            before.get(place),
            after.get(place),
            default,
            parameter=parameter.name if parameter else None,
            is_bytes=parameter is not None and parameter.is_bytes,
            help=parameter.help if parameter else "",
        )
        lines += [line] if line.differs else []
    return lines


def steps_of_best(result: Mapping[str, Any], text: str) -> Steps:
    """How what the best configuration changes is applied, by the job's file."""
    family = result["job"].get("column_family")
    file, known = read_user_options(text, family=family), catalogue()
    before, best = result["baseline"]["configuration"], result["best"]["configuration"]
    changed = [each.name for each in changed_options(before, best) if each.name in best]
    places = [
        (title_of(known[name]), known[name].key)
        for name in changed
        if name in known and known[name].is_option
    ]
    changes = [Change(file.own_title(at[0]), at[1], None, file.get(*at)) for at in places]
    return steps_of(changes, parse_options(text), application_steps(text))
