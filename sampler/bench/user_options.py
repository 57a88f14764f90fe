"""A user's OPTIONS file, ready to be a baseline: its values, and what is not measured of it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sampler.bench.accepted import (
    Accepted,
    RefusedOption,
    accepted_part,
    build_version,
)
from sampler.bench.builds import fetch_words
from sampler.bench.installed import InstalledDbBench
from sampler.common.errors import InputError
from sampler.common.text import format_bytes
from sampler.rocksdb.forms import read_user_options
from sampler.rocksdb.measured_part import (
    MEMTABLE_LIMIT,
    caches_of,
    file_limit,
    file_values,
    foreign_factory,
    foreign_table,
    measured_part,
    one_writer,
    unmeasured_options,
    without_derived,
)
from sampler.rocksdb.option_facts import enclosing_fact, fact_of
from sampler.rocksdb.option_values import (
    OLD_JOBS,
    FilterPolicy,
    jobs_by_old_names,
    real_number,
    title_of,
    value_in,
    whole_number,
)
from sampler.rocksdb.options_file import (
    CF,
    DB,
    DEFAULT_FAMILY,
    ELSEWHERE,
    TABLE,
    OptionsFile,
    leaves,
    parse_options,
    parse_struct,
    unnumbered,
)
from sampler.rocksdb.parameters import Parameter, Value, catalogue

_JOBS, _FILTER = "max_background_jobs", "filter_policy"
# Of the measurement itself, or told by ``jobs.specification.resolved_job``.
_SILENT = frozenset({
    *ELSEWHERE, "create_if_missing", "create_missing_column_families", "db_host_id",
    "dump_malloc_stats", "fail_if_options_file_error", "info_log_level", "keep_log_file_num",
    "log_file_time_to_roll", "manifest_preallocation_size", "max_log_file_size",
    "stats_dump_period_sec", "stats_history_buffer_size", "stats_persist_period_sec",
})  # fmt: skip
_BY_FLAG = ("row_cache",)  # no RocksDB reads it from a file; see ``sampler.rocksdb.measured_part``
_LISTED = 12  # names in one line
_WHOLE_TYPES = frozenset({"int", "uint", "size", "rate", "time"})
# The unit may go on (``64MB``, ``64MiB``), and a semicolon may end it.
_WRITTEN_WHOLE = re.compile(r"\s*[+-]?\d+([kKmMgGtT](i?[bB])?)?[bB]?;?\s*", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class UserOptions:
    """What a file says and what is measured of it."""

    # One family of it as the default one, in its normal form, full scale.
    file: OptionsFile = field(default_factory=OptionsFile)
    text: str | None = None  # the file as the user wrote it
    # By parameter, of those that it names; full scale. Two that are no parameters count for the
    # memory: the limit of all memtables and the bytes of further caches.
    values: Mapping[str, Value] = field(default_factory=dict)
    # Section and key of what this RocksDB does not know, which is not measured.
    dropped: frozenset[tuple[str, str]] = frozenset()
    notes: tuple[str, ...] = ()  # a line for each thing that is not measured as the file says

    @property
    def immovable(self) -> frozenset[str]:
        """Parameters that cannot be moved.

        The file has another table, no cache, or an option that this RocksDB does not take.
        """
        options = [p for p in catalogue().values() if p.is_option]
        found = {p.name for p in options if (title_of(p), p.key) in self.dropped}
        if self.file.table() != TABLE:
            found |= {p.name for p in options if p.section == "Table"}
        if self.values.get("cache_size") == 0:
            found.add("cache_size")
        if one_writer(self.file):
            found.add("allow_concurrent_memtable_write")
        if self.values.get("use_direct_io_for_compaction_reads"):
            found.add("mmap_read")  # RocksDB refuses both together (db_impl_open.cc)
        return frozenset(found)


def user_options(
    text: str,
    installed: InstalledDbBench | None,
    *,
    name: str = "baseline_options",
    family: str | None = None,
    drop_unknown: bool = False,
) -> UserOptions:
    """Reads a file, and lets RocksDB open a database with what is measured of one family of it.

    Without the db_bench that will measure, what it takes is found out later. What it does not know
    is refused, or left out with ``drop_unknown``. ``name`` is what the user calls the file.

    Raises:
        InputError: It is no OPTIONS file, or RocksDB refuses it; every option is named at once.
    """
    file = without_derived(read_user_options(text, name=name, family=family))
    values = file_values(file)
    notes = list(_notes(text, file))
    found = UserOptions(file=file, text=text, values=values, notes=tuple(notes))
    if installed is None:
        return found
    accepted = accepted_part(installed, measured_part(file, 1))
    if accepted.part is None:
        raise InputError(name, f"RocksDB {installed.version} refuses it: {accepted.said}")
    if accepted.refused:
        if not drop_unknown:
            fix = "`drop_unknown` leaves " + ("them" if len(accepted.refused) > 1 else "it")
            raise InputError(
                name,
                f"{refusal_words(accepted.refused, file, installed.version)}. {fix} out while "
                "measuring and keeps your values in the resulting OPTIONS file"
                + _newer_build(file, installed.version),
            )
        notes += _dropped_lines(accepted.refused, file, installed.version)
    dropped = frozenset((each.section, each.key) for each in accepted.refused)
    effective, changed = _in_effect(file, values, accepted)
    return replace(found, values=effective, dropped=dropped, notes=(*notes, *changed))


def _notes(text: str, file: OptionsFile) -> Iterator[str]:
    others = [name for name in parse_options(text).families if name != file.family]
    if others:
        yield (
            f"column families {_names(others)}: not measured; only {file.family} is. "
            "`column_family` selects another"
        )
    if foreign := foreign_table(file):
        yield (
            f"[{file.own_title(foreign)}]: not known to db_bench, measured with RocksDB's default "
            "table; your file keeps it"
        )
    elif factory := foreign_factory(file):
        instead = "measured with RocksDB's default"
        yield f"table_factory = {factory[:60]}: not known to db_bench, {instead}"
    if cause := one_writer(file):
        yield (
            "allow_concurrent_memtable_write is not in the file: measured with false, because "
            f"RocksDB opens no database otherwise with {cause}"
        )
    if (policy := FilterPolicy.of(file)).problem:
        yield f"{policy.problem}: nothing is filtered while measuring. {policy.fix}"
    yield from caches_of(file).notes
    yield from _cut_numbers(file)
    by_reason: dict[str, list[str]] = {}
    for (section, key), fact in unmeasured_options(file).items():
        value = file.get(section, key) or ""
        own = _objects(value) - {each for usual in fact.defaults for each in _objects(usual)}
        if own and key.partition(".")[0] not in _SILENT:
            by_reason.setdefault(fact.why, []).append(f"{key} = {value[:60]}")
    for why, told in by_reason.items():
        yield f"{_names(told)}: left out while measuring. {why}"
    jobs = jobs_by_old_names(file)
    if jobs is not None:
        said = ", ".join(f"{key} = {file.get(DB, key)}" for key in OLD_JOBS if file.get(DB, key))
        yield (
            f"{said}: these deprecated options override {_JOBS} and amount to {jobs} threads; "
            f"where {_JOBS} is changed, they are removed from the file"
        )
    limit = file_limit(file)
    if limit:
        yield (
            f"{MEMTABLE_LIMIT} = {format_bytes(limit)}: memtables are flushed when their total "
            "reaches this size, whatever write_buffer_size allows"
        )


def require_known_filter(file: OptionsFile, *, name: str) -> None:
    """Refuses a file that names a filter without its bits, for a job that searches for such bits.

    It would measure the baseline without the filter that the application has, and prove a filter
    as a gain. ``file`` is in its normal form.

    Raises:
        InputError: It does.
    """
    if (policy := FilterPolicy.of(file)).without_bits:
        raise InputError(
            name,
            f"{file.place(TABLE, _FILTER)} = {str(policy.text)[:60]} does not say the bits per "
            "key, and RocksDB makes no filter from this text: the filter of your application "
            f"would be taken for none, and found as a gain. {policy.fix}",
        )


def _objects(text: str) -> set[str]:
    """The members of a list, or the one value that a text is; nothing of what is not there."""
    return set(text.strip("{}").split(":")) - {"", "nullptr"}


def _cut_numbers(file: OptionsFile) -> Iterator[str]:
    """Numbers behind which something stands that RocksDB passes over: of ``64 MB`` it reads 64."""
    for (section, key), text in leaves(file.of_family(DEFAULT_FAMILY)):
        fact = enclosing_fact(section, key)
        number = whole_number(text)
        if fact is None or fact.type not in _WHOLE_TYPES or number is None:
            continue
        if not _WRITTEN_WHOLE.fullmatch(text):
            yield f"{key} = {text[:60]}: RocksDB reads {number} and ignores the rest"


def _names(names: list[str]) -> str:
    return _first(names, _LISTED, ", ")


def _first(names: list[str], most: int | None, between: str) -> str:
    more = 0 if most is None else len(names) - most
    return between.join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _newer_build(file: OptionsFile, version: str) -> str:
    """How to get a build that knows a file of a newer RocksDB, as a sentence; else empty."""
    if file.version is None or file.version[:2] <= build_version(version):
        return ""
    return f". {fetch_words('.'.join(map(str, file.version)), version)}"


def refusal_words(
    refused: Sequence[RefusedOption], file: OptionsFile, version: str, *, most: int | None = None
) -> str:
    """What a RocksDB of a version does not take of a file, named; of each kind ``most``."""
    unknown = [_since(each, file) for each in refused if each.unknown]
    wrong = [_said_of(each, file) for each in refused if not each.unknown]
    told = []
    if unknown:
        told.append(f"RocksDB {version} does not know {_first(unknown, most, ', ')}")
    if wrong:
        told.append(f"RocksDB {version} refuses {_first(wrong, most, '; ')}")
    return ". ".join(told)


def _said_of(refused: RefusedOption, file: OptionsFile) -> str:
    value = file.get(refused.section, refused.key) or refused.value
    said = refused.said.rstrip(".")
    return f"{file.place(refused.section, refused.key)} = {value}: {said}"


def _since(refused: RefusedOption, file: OptionsFile) -> str:
    """An option with the version that brought it, or that took it away."""
    fact = enclosing_fact(refused.section, refused.key)
    if fact is None or fact.key != unnumbered(refused.key):
        titles = (t for t in (DB, CF, TABLE) if t != refused.section and fact_of(t, refused.key))
        for title in titles:
            own = file.own_title(refused.section), file.own_title(title)
            return f"{refused.key} in [{own[0]}] (it belongs in [{own[1]}])"
        return _as_written(refused, file)
    if not fact.since:
        return fact.key
    return f"{fact.key} (since {fact.since}{'' if fact.since_is_exact else ' or earlier'})"


def _as_written(refused: RefusedOption, file: OptionsFile) -> str:
    """The name of an unknown option as the user wrote it: a dotted one names its fields."""
    mine = (key for section, key in file.lines if section == refused.section)
    return ", ".join(key for key in mine if key.startswith(f"{refused.key}.")) or refused.key


def _dropped_lines(
    refused: tuple[RefusedOption, ...], file: OptionsFile, version: str
) -> list[str]:
    asked = [each for each in refused if each.key.partition(".")[0] not in _BY_FLAG]
    keys, them = [_as_written(each, file) for each in asked], "them" if len(asked) > 1 else "it"
    line = f"RocksDB {version} does not accept {them}; not measured, kept in the file"
    return [f"{', '.join(keys)}: {line}"] if keys else []


def _in_effect(
    file: OptionsFile, values: Mapping[str, Value], accepted: Accepted
) -> tuple[dict[str, Value], list[str]]:
    assert accepted.effect is not None and accepted.part is not None
    effect = accepted.effect
    known = {(title_of(p), p.key): p for p in catalogue().values() if p.is_option}
    found, lines = dict(values), []
    for (section, key), text in leaves(accepted.part):
        whole = known.get((section, key.partition(".")[0]))
        parameter, now = known.get((section, key), whole), effect.get(section, key)
        if parameter is not None:
            lines += _changed_parameter(parameter, file, effect, found)
        elif now is not None and not same_value(text, now):
            lines += _changed_option(section, key, text, now)
        elif now is None:
            lines += _unknown_object(section, key.partition(".")[0], file, effect)
    return found, list(dict.fromkeys(lines))


def _unknown_object(
    section: str, key: str, file: OptionsFile, effect: OptionsFile
) -> Iterator[str]:
    """An object of the application with fields: nothing in effect has them."""
    fact, now = enclosing_fact(section, key), effect.get(section, key) or ""
    text = file.get(section, key) or ""
    if fact is None or fact.type not in ("object", "vector"):
        return
    if parse_struct(text).get("id") == now:
        return
    if _objects(text) and (not _objects(now) or now in fact.defaults):
        measured = f"measured with {now}" if now else "measured without"
        yield f"{key} = {text[:60]}: not known to db_bench, {measured}"


def _changed_parameter(
    parameter: Parameter, file: OptionsFile, effect: OptionsFile, found: dict[str, Value]
) -> list[str]:
    """Corrects a value by what is in effect; a special one may become any number."""
    name = parameter.name
    was, now = value_in(file, parameter), value_in(effect, parameter)
    if now is None or was == now or was in parameter.special:
        return []
    if was is not None and parameter.is_numeric and abs(float(was) - float(now)) <= 1e-6:
        return []
    found[name] = now
    if file.get(title_of(parameter), parameter.key) is None:  # `_notes` tells what was put in
        return []
    text = file.get(title_of(parameter), parameter.key) or ""
    if parameter.key == _FILTER and FilterPolicy(text).without_bits:  # told already
        return []
    if was is None and not now:  # an object that db_bench has no code for
        return _changed_option(title_of(parameter), parameter.key, text, "nullptr")
    return [f"{parameter.key} = {text}: RocksDB changes it to {now}"]


def _changed_option(section: str, key: str, text: str, now: str) -> list[str]:
    """What is in effect instead; RocksDB writes the objects that it knows in a way of its own."""
    fact = enclosing_fact(section, key)
    if fact is None or fact.type != "object":
        return [f"{key} = {text}: RocksDB changes it to {now}"]
    if now not in fact.defaults:
        return []
    return [f"{key} = {text}: not known to db_bench, measured with {now}"]


def same_value(text: str, now: str) -> bool:
    """Whether two texts of an OPTIONS file are one value, as ``64M`` and ``67108864`` are."""
    if text == now or {text, now} == {"", "nullptr"}:
        return True
    bools = {"1": "true", "0": "false"}
    if bools.get(text, text) == now:
        return True
    if ":" in text and ":" in now:
        mine, theirs = text.split(":"), now.split(":")
        return len(mine) == len(theirs) and all(map(same_value, mine, theirs))
    numbers = [(real_number if "." in each else whole_number)(each) for each in (text, now)]
    return None not in numbers and float(numbers[0] or 0) == float(numbers[1] or 0)
