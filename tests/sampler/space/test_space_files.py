from pathlib import Path

import pytest

from sampler.common.documents import parse_toml
from sampler.common.errors import InputError
from sampler.rocksdb.parameters import catalogue
from sampler.space.latent import decode
from sampler.space.space import Space
from sampler.space.space_file import SHIPPED, load_space, space_text
from tests.support import DATA

BAD = sorted((DATA / "bad_spaces").glob("*.toml"))
GOOD = sorted((DATA / "good_spaces").glob("*.toml"))
WORKLOAD_FACTORS = {"threads", "compression_ratio"}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_space_loads_under_its_own_name_and_says_what_it_is(name: str):
    document = parse_toml(space_text(name), field=name)
    assert load_space(name).name == document["name"] == name
    assert len(document["help"]) > 20


@pytest.mark.parametrize("name", [name for name in SHIPPED if name != "warlo"])
def test_a_shipped_space_has_known_parameters_only(name: str):
    assert set(load_space(name).names) <= catalogue().keys()


def test_default_has_30_parameters_every_one_an_option():
    space = load_space("default")
    assert len(space.names) == 30
    assert all(parameter.is_option for parameter in space.parameters)
    assert space.baseline == "library" and space.memory_budget and not space.unsearched


def test_paper_has_30_parameters_two_of_them_facts_of_the_workload():
    space = load_space("paper")
    assert len(space.names) == 30
    factors = {p.name for p in space.parameters if p.section == "workload"}
    assert factors == {p.name for p in space.parameters if not p.is_option} == WORKLOAD_FACTORS


def test_paper_compares_with_db_bench_s_defaults_and_has_no_memory_budget():
    space = load_space("paper")
    assert space.baseline == "db_bench" and not space.memory_budget
    assert space.context["hard_pending_compaction_bytes_limit"] == 128 * 2**30
    assert space.context["enable_pipelined_write"] is True


def test_paper_draws_1_2_or_4_threads_but_never_searches_them():
    space = load_space("paper")
    assert space.by_name["threads"].values == (1, 2, 4)
    assert space.unsearched == {"threads"}


def test_universal_and_blob_fix_what_they_are_named_for():
    assert load_space("universal").fixed == {"compaction_style": "universal"}
    assert load_space("blob").fixed == {"enable_blob_files": True}


def test_all_tunes_every_option_and_the_block_cache():
    assert set(load_space("all").names) == catalogue().keys() - WORKLOAD_FACTORS


@pytest.mark.parametrize("file", BAD, ids=lambda file: file.stem)
def test_a_wrong_space_is_refused_in_one_line_that_names_field_and_mend(file: Path):
    expected = file.read_text().splitlines()[0].removeprefix("# error: ")
    with pytest.raises(InputError) as refused:
        load_space(str(file))
    assert expected in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("file", GOOD, ids=lambda file: file.stem)
@pytest.mark.parametrize("share", [0.0, 0.37, 0.5, 0.999999])
def test_a_right_space_is_accepted_and_gives_values_within_its_ranges(file: Path, share: float):
    space = load_space(str(file))
    configuration = decode(space, dict.fromkeys(space.names, share))
    for name in set(space.names) & configuration.keys():
        parameter, value = space.by_name[name], configuration[name]
        if parameter.is_numeric and value not in parameter.special:
            assert parameter.low is not None and parameter.high is not None
            assert parameter.low <= float(value) <= parameter.high
        else:
            assert value in (*parameter.values, *parameter.special)


def test_there_are_files_of_both_kinds():
    assert len(BAD) >= 40 and len(GOOD) >= 10


def own(text: str, tmp_path: Path) -> Space:
    file = tmp_path / "own.toml"
    file.write_text('name = "own"\n' + text)
    return load_space(str(file))


def test_an_override_keeps_what_it_does_not_name(tmp_path: Path):
    known = catalogue()["write_buffer_size"]
    space = own('[[parameter]]\nname = "write_buffer_size"\nhigh = 134217728\n', tmp_path)
    parameter = space.by_name["write_buffer_size"]
    assert (parameter.low, parameter.high) == (known.low, 134217728)
    assert (parameter.key, parameter.log, parameter.scaled) == (known.key, True, True)


def test_a_parameter_of_one_s_own_goes_to_the_command_and_starts_at_its_default(tmp_path: Path):
    text = '[[parameter]]\nname = "batch"\ntype = "int"\nlow = 1\nhigh = 64\ndefault = 8\n'
    space = own(text, tmp_path)
    assert space.by_name["batch"].section == "command"
    assert space.default_configuration() == {"batch": 8}


def test_ends_off_the_step_are_still_reached(tmp_path: Path):
    text = '[[parameter]]\nname = "write_buffer_size"\nlow = 10000000\nhigh = 30000000\n'
    space = own(text, tmp_path)
    ends = [decode(space, {"write_buffer_size": u})["write_buffer_size"] for u in (0.0, 0.9999999)]
    assert ends == [10_000_000, 30_000_000]


def test_a_step_that_no_value_of_the_range_lies_on_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="quantum"):
        own('[[parameter]]\nname = "write_buffer_size"\nquantum = 1000000000\n', tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        '[[parameter]]\nname = "batch"\ntype = "int"\nlow = 1\nhigh = 64\ndefault = 99\n',
        '[fixed]\nnum_levels = -3\n[[parameter]]\nname = "write_buffer_size"\n',
    ],
    ids=["default", "fixed"],
)
def test_a_value_outside_the_range_is_refused(text: str, tmp_path: Path):
    with pytest.raises(InputError):
        own(text, tmp_path)


def test_a_fixed_value_that_leaves_no_room_for_a_rule_is_refused(tmp_path: Path):
    text = (
        "[fixed]\nlevel0_stop_writes_trigger = 4\n"
        '[[parameter]]\nname = "level0_slowdown_writes_trigger"\n'
    )
    with pytest.raises(InputError, match="level0_slowdown_writes_trigger"):
        own(text, tmp_path)


def test_a_condition_on_a_value_that_cannot_be_is_refused(tmp_path: Path):
    text = '[[parameter]]\nname = "bloom_bits"\nactive_if = {compression_type = ["brotli"]}\n'
    with pytest.raises(InputError, match="brotli"):
        own(text, tmp_path)


def test_a_number_too_large_to_count_with_is_refused(tmp_path: Path):
    text = f'[[parameter]]\nname = "batch"\ntype = "int"\nlow = 1\nhigh = 1{"0" * 400}\n'
    with pytest.raises(InputError, match="high"):
        own(text, tmp_path)


def test_a_name_that_is_neither_shipped_nor_a_file_is_refused_with_the_shipped_ones():
    with pytest.raises(InputError, match="not one of default, paper, universal, blob, all"):
        load_space("defualt")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match=r"space: cannot read .*No such file"):
        load_space(str(tmp_path / "nowhere.toml"))


def test_a_file_that_is_not_text_is_refused(tmp_path: Path):
    file = tmp_path / "bytes.toml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="it is not UTF-8"):
        load_space(str(file))
