import pytest

from sampler.bench.installed import InstalledDbBench
from sampler.rocksdb.option_facts import OptionFact, option_facts
from sampler.rocksdb.option_values import read_values, title_of
from sampler.rocksdb.options_file import OptionsFile
from sampler.rocksdb.parameters import Parameter, Value, catalogue
from tests.support.sampler.versions import knows

PARAMETERS = tuple(catalogue().values())
OPTIONS = [parameter for parameter in PARAMETERS if parameter.is_option]
_SECTIONS = {"Table": "BlockBasedTable"}  # a section by the name of its facts
by_name = pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda p: p.name)


def test_there_are_at_least_45_options_and_none_twice():
    places = {(parameter.section, parameter.key) for parameter in OPTIONS}
    assert len(places) == len(OPTIONS) >= 45


@by_name
def test_every_parameter_says_what_it_does_and_which_values_it_has(parameter: Parameter):
    low, high = parameter.low, parameter.high
    assert len(parameter.help.split()) >= 3 and parameter.help.endswith(".")
    assert parameter.refers_to <= catalogue().keys()
    for condition in parameter.active_if:
        assert {*condition.values} <= {*catalogue()[condition.parameter].values}
    if parameter.is_numeric:
        assert low is not None and high is not None and low < high
        assert not parameter.log or low > 0
        assert not any(low <= float(value) <= high for value in parameter.special)
    else:
        assert len(parameter.values) >= 2
        assert {parameter.default, parameter.default_db_bench} <= {*parameter.values}
    if parameter.scaled and not parameter.multiple_of:  # a size stays one at scale 64
        assert parameter.kind == "int"
        assert int(low or 0) % 64 == 0 and parameter.quantum % 64 == 0


@pytest.mark.db_bench
@by_name
def test_rocksdb_has_every_option_in_its_options_file_and_the_flags(
    parameter: Parameter, installed: InstalledDbBench
):
    without_flag = parameter.is_option and parameter.flag == ""
    assert without_flag or parameter.flag in installed.flags
    fact = _fact(parameter)
    known = not fact or knows(installed, fact)
    assert installed.knows(parameter) is known
    if known and parameter.is_option and parameter.key != "compression_per_level":
        assert installed.defaults.get(title_of(parameter), parameter.key) is not None


def _fact(parameter: Parameter) -> OptionFact | None:
    section = _SECTIONS.get(parameter.section, parameter.section)
    return option_facts().get((section, parameter.key))


def _default_in(parameter: Parameter, version: str) -> Value:
    """The catalogue's default, or the one that the table of facts has for a later version."""
    fact = _fact(parameter)
    if fact is None or fact.default_in(version) == fact.default:
        return parameter.default
    struct, dot, field = parameter.key.partition(".")
    text = f"{{{field}={fact.default_in(version)};}}" if dot else fact.default_in(version)
    file = OptionsFile({title_of(parameter): {struct: text}})
    return read_values(file, [parameter])[parameter.name]


@by_name
def test_what_changes_by_default_between_versions_is_marked_as_such(parameter: Parameter):
    fact = _fact(parameter)
    known = {fact.default, *(text for _, text in fact.later)} - {""} if fact else set()
    assert parameter.varies == (len(known) > 1 or parameter.name == "cache_size")


@pytest.mark.db_bench
def test_library_defaults_are_those_that_rocksdb_uses(installed: InstalledDbBench):
    listed = {each.name: _default_in(each, installed.version) for each in PARAMETERS}
    assert installed.library_defaults() == listed


def test_a_count_of_entries_is_scaled_and_is_no_size_in_bytes():
    counted = {each.name for each in PARAMETERS if each.scaled and not each.is_bytes}
    assert counted == {"memtable_op_scan_flush_trigger"}
    unscaled = {each.name: each.words(2**16) for each in PARAMETERS
                if each.is_bytes and not each.scaled}  # fmt: skip
    assert unscaled.pop("delayed_write_rate") == "64 KiB/s"
    assert {*unscaled.values()} == {"64 KiB"}
    assert {*unscaled} == {
        "block_size", "bytes_per_sync", "compaction_readahead_size", "compression_max_dict_bytes",
        "wal_bytes_per_sync", "writable_file_max_buffer_size",
    }  # fmt: skip
