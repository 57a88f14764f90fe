"""KIOXIA's tuning guide: its worked example, its levels, its limits, and its OPTIONS files."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler.bench.bench_plan import unmet_values
from sampler.bench.installed import InstalledDbBench, newest_options, try_options
from sampler.common.errors import InputError, InputErrors
from sampler.rocksdb.option_values import read_values
from sampler.rocksdb.options_file import CF, DB, parse_options
from sampler.rocksdb.parameters import catalogue
from sampler.space.kioxia_guide import (
    COUNTERPARTS,
    PRESET,
    WITHOUT_COUNTERPART,
    GuideRequest,
    Planned,
    compute_guide,
    files_of,
    guide_cautions,
    levels_for,
    read_planned,
    rocksdb_text,
    rocksdb_values,
    trocksdb_text,
    whole,
)  # fmt: skip
from sampler.space.starting_points import guide_values, planned_for
from sampler.workload.workload import Workload

EXAMPLE = Planned(
    keys=8_000_000_000, key_size=20, value_size=800, cpu_threads=48, memory=128_000_000_000
)
LARGE = replace(EXAMPLE, cpu_threads=256, value_size=20_000_000)
SMALL = replace(EXAMPLE, cpu_threads=1, keys=1000, memory=1)
MB = 10**6


def test_the_worked_example_of_24_cores_and_8_billion_pairs_of_20_and_800_bytes():
    found = compute_guide(EXAMPLE)
    assert {**found.settings} | {"cache_size": 0} == {
        "max_background_jobs": 48,
        "num_threads": 48,
        "max_write_buffer_number": 13,
        "level0_file_num_compaction_trigger": 4,
        "level0_slowdown_writes_trigger": 36,
        "level0_stop_writes_trigger": 48,
        "target_file_size_base": 8 * MB,
        "max_bytes_for_level_base": 64 * MB,
        "max_bytes_for_level_multiplier": 8,
        "vlogfile_max_size": 160 * MB,
        "write_buffer_size": 168 * MB,
        "cache_size": 0,
    }
    # Figure 4, and "2.1 GB of DRAM used for write buffers, leaving ~100 GB for DRAM cache".
    assert (found.files, found.keys_per_file) == (40_000, 200_000)
    assert found.memtables == 2_184 * MB
    assert found.settings["cache_size"] == pytest.approx(100e9, rel=0.01)
    assert rocksdb_values(found)["num_levels"] == 7
    assert guide_cautions(found) == ()


def test_the_levels_of_figure_5():
    levels = compute_guide(EXAMPLE).levels
    assert [(each.level, each.files, each.bytes) for each in levels] == [
        (1, 8, 64_000_000),
        (2, 64, 512_000_000),
        (3, 512, 4_096_000_000),
        (4, 4_096, 32_768_000_000),
        (5, 32_768, 262_144_000_000),
        (6, 262_144, 2_097_152_000_000),
    ]
    files, size = whole(levels)
    assert (files, f"{size:.2E}") == (299_592, "2.40E+12")


def test_the_guide_s_own_edge_of_256_threads_and_values_of_150_000_bytes():
    found = compute_guide(replace(EXAMPLE, cpu_threads=256, value_size=150_000))
    assert found.settings["max_write_buffer_number"] == 65
    assert found.settings["write_buffer_size"] == pytest.approx(30e9, rel=0.01)
    assert found.memtables == pytest.approx(1_950e9, rel=0.01)
    assert [each.setting for each in guide_cautions(found)] == ["write_buffer_size"]
    assert "more than the memory of 128 GB" in guide_cautions(found)[0].text
    # "values such as 3 GB: each write buffer is 600,000 GB"
    huge = compute_guide(replace(EXAMPLE, value_size=3 * 10**9)).settings
    assert huge["write_buffer_size"] == pytest.approx(6e14)


@pytest.mark.parametrize(
    ("change", "setting", "said"),
    [
        ({"keys": 12_500_000_040}, "max_bytes_for_level_base", "100 MB is over 100 MB"),
        ({"keys": 12_500_000_040}, "target_file_size_base", "use --open-files 83334"),
        ({"keys": 10**12}, "target_file_size_base", "more than one database should have"),
        ({"memory": 2_183 * MB}, "write_buffer_size", "13 write buffers of 168 MB are 2.184 GB"),
        ({"value_size": 10 * MB + 1}, "write_buffer_size", "over 10 MB"),
        ({"value_size": MB}, "write_buffer_size", "it uses 64 GiB"),
        ({"open_files": 100_002}, "open_files", "100,002 is over 100,000"),
        ({"keys": 10**6}, "write_buffer_size", "it uses 64 KiB; --open-files 10 makes them"),
        ({"keys": 10**6}, "target_file_size_base", "1 kB is small"),
        ({"keys": 1000, "open_files": 2}, "target_file_size_base", "needs no guide"),
        ({"cpu_threads": 8}, "level0_slowdown_writes_trigger", "used instead: 8 and 12"),
    ],
)
def test_where_it_should_not_be_followed_it_warns(change: dict[str, int], setting: str, said: str):
    found = guide_cautions(compute_guide(replace(EXAMPLE, **change)))
    assert any(each.setting == setting and said in each.text for each in found), found


@pytest.mark.parametrize(
    "change",
    [
        {"keys": 12_000_000_000},  # files of 12 MB, a level of 96 MB
        {"memory": 2_184 * MB},
        {"open_files": 100_000},
        {"cpu_threads": 12},
    ],
)
def test_at_its_limits_it_does_not(change: dict[str, int]):
    assert guide_cautions(compute_guide(replace(EXAMPLE, **change))) == ()


@given(
    keys=st.integers(1, 10**13),
    key_size=st.integers(1, 1000),
    value_size=st.integers(1, 10**6),
    threads=st.integers(1, 512),
    files=st.integers(2, 10**6),
)
def test_whatever_is_planned_has_room(
    keys: int, key_size: int, value_size: int, threads: int, files: int
):
    planned = Planned(keys=keys, key_size=key_size, value_size=value_size, cpu_threads=threads,
                      memory=10**11, open_files=files)  # fmt: skip
    found = compute_guide(planned)
    tuned, memtables = found.settings, found.memtables
    assert found.keys_per_file * found.files >= keys
    assert tuned["target_file_size_base"] >= found.keys_per_file * (key_size + 20)
    both = tuned["target_file_size_base"] + tuned["vlogfile_max_size"]
    assert tuned["write_buffer_size"] == both
    slowdown, stop = (tuned[f"level0_{name}_writes_trigger"] for name in ("slowdown", "stop"))
    assert 4 < slowdown <= stop
    assert tuned["max_write_buffer_number"] >= 2
    room, size = whole(found.levels)
    needed = -(-keys // found.keys_per_file)
    assert room >= needed and size >= keys * (key_size + 20)
    assert whole(found.levels[:-1])[0] < needed
    assert tuned["cache_size"] + memtables <= max(planned.memory, memtables)
    guide_cautions(found)


def test_more_files_by_its_own_advice_end_the_warning():
    many = replace(EXAMPLE, keys=14_000_000_000)
    (base, file) = guide_cautions(compute_guide(many))
    assert base.text.split("--open-files ")[1] == file.text.split("--open-files ")[1]
    advised = int(file.text.split("--open-files ")[1].split()[0])
    assert guide_cautions(compute_guide(replace(many, open_files=advised))) == ()


def test_levels_end_with_the_first_that_has_room():
    assert len(levels_for(8, 1)) == 1
    assert len(levels_for(9, 1)) == 2


def test_what_is_typed_is_read():
    given = {"keys": "8e9", "key_size": "20", "value_size": "800", "cpu_threads": "48"}
    assert read_planned(GuideRequest(**given, memory="128GB")) == EXAMPLE
    assert read_planned(GuideRequest(**given, memory="128GB", open_files="8e4")) == EXAMPLE


def test_all_that_is_wrong_is_told_together():
    with pytest.raises(InputErrors) as refused:
        read_planned(GuideRequest(
            keys="1.5", key_size="0", value_size="big", cpu_threads="nan", memory="-1",
            open_files="1",
        ))  # fmt: skip
    assert [each.field for each in refused.value.errors] == [
        "keys", "cpu_threads", "open_files", "key_size", "value_size", "memory",
    ]  # fmt: skip


@pytest.mark.parametrize("keys", ["", "1e999999", "-5", "0", "inf", "1e-999999", "9" * 60, "8e9x"])
def test_what_is_no_number_of_keys_is_refused(keys: str):
    others = {"key_size": "1", "value_size": "1", "cpu_threads": "1", "memory": "1"}
    with pytest.raises(InputError, match="keys"):
        read_planned(GuideRequest.model_construct(keys=keys, **others))


def of(workload: Workload, memory: int | None = None, *, separating: bool = True):
    return guide_values(workload, cpu_threads=48, memory=memory, separating=separating)


def test_a_workload_of_the_example_s_size_is_the_example():
    workload = Workload(name="w", num=125_000_000, key_size=20, value_size=800, scale=64)
    assert planned_for(workload, cpu_threads=48, memory=None).open_files == 80_000
    found = of(workload)
    assert found["write_buffer_size"] == 168 * MB
    assert (found["target_file_size_base"], found["max_bytes_for_level_base"]) == (8 * MB, 64 * MB)
    assert (found["max_background_jobs"], found["max_write_buffer_number"]) == (48, 13)
    assert (found["enable_blob_files"], found["blob_file_size"]) == (True, 160 * MB)


def test_a_small_workload_has_few_files_and_two_buffers_keep_the_memory():
    workload = Workload(name="w", num=100_000, key_size=16, value_size=1024, scale=64)
    memory = 128 * 2**20
    found = of(workload, memory)
    assert 0.9 * memory < 2 * int(found["write_buffer_size"]) <= memory
    assert of(workload)["target_file_size_base"] == pytest.approx(8 * MB, rel=0.1)
    assert files_of(6_400_000, 222_222) == 58
    assert of(replace(workload, num=6_400_000, scale=1)) == of(workload)  # the same database


def test_where_nothing_is_kept_apart_what_is_for_keys_alone_is_left_out():
    workload = Workload(name="w")
    both, neither = of(workload), of(workload, separating=False)
    assert both.keys() - neither.keys() == {
        "target_file_size_base", "max_bytes_for_level_base", "compression_type",
        *(name for name in both if "blob" in name),
    }  # fmt: skip
    assert "cache_size" not in both


def test_the_file_for_trocksdb_holds_the_worked_example():
    options = parse_options(trocksdb_text(compute_guide(EXAMPLE)))
    assert options.get(DB, "max_background_jobs") == "48"
    shown = {name: options.get(CF, name) for name in (
        "max_write_buffer_number", "level0_file_num_compaction_trigger",
        "level0_slowdown_writes_trigger", "level0_stop_writes_trigger", "target_file_size_base",
        "max_bytes_for_level_base", "max_bytes_for_level_multiplier", "write_buffer_size",
        "vlogfile_max_size",
    )}  # fmt: skip
    assert list(shown.values()) == [
        "13", "4", "36", "48", "8000000", "64000000", "8", "168000000", "160000000",
    ]  # fmt: skip
    assert options.get(CF, "ring_compression_style") == "kLZ4Compression"


def test_every_option_of_trocksdb_is_translated_or_named_as_lost():
    of_its_own = {*PRESET, "vlogfile_max_size"}
    assert of_its_own == {*COUNTERPARTS, *WITHOUT_COUNTERPART}
    text = rocksdb_text(compute_guide(EXAMPLE))
    keys = parse_options(text).sections[CF].keys()
    assert keys.isdisjoint(of_its_own)
    assert set(COUNTERPARTS.values()) <= keys
    assert all(name in text for name in WITHOUT_COUNTERPART)


def test_both_files_say_what_they_are_for_and_what_they_cannot_hold():
    for text in (trocksdb_text(compute_guide(LARGE)), rocksdb_text(compute_guide(LARGE))):
        assert "# Set cache_size = 0 in the application" in text
        assert "# Warning: write_buffer_size: " in text
        assert "not measured" in text


@pytest.mark.db_bench
@pytest.mark.parametrize("planned", [EXAMPLE, LARGE, SMALL], ids=["example", "large", "small"])
def test_the_real_db_bench_takes_the_translated_file(
    installed: InstalledDbBench, tmp_path: Path, planned: Planned
):
    text = rocksdb_text(compute_guide(planned))
    tried = try_options(installed.program, text, tmp_path)
    assert tried.options is not None, tried.complaint
    # RocksDB keeps write buffers within 64 KiB and 64 GiB, of which the file's warnings tell.
    cut = [] if planned is EXAMPLE else ["write_buffer_size"]
    changed = unmet_values(parse_options(text), tried.options, catalogue())
    assert [each.split(":")[0] for each in changed] == cut


@pytest.mark.db_bench
def test_all_values_are_in_effect_and_go_to_blob_files(
    installed: InstalledDbBench, tmp_path: Path
):
    file = tmp_path / "OPTIONS.ini"
    file.write_text(rocksdb_text(compute_guide(EXAMPLE)))
    argv = [f"--options_file={file}", f"--db={tmp_path / 'db'}", "--num=1000", "--value_size=800"]
    command = [str(installed.program), *argv, "--benchmarks=fillseq,flush"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    written = newest_options(tmp_path / "db")
    assert written is not None
    values = {n: v for n, v in rocksdb_values(compute_guide(EXAMPLE)).items() if n != "cache_size"}
    found = read_values(written, catalogue().values())
    assert {name: found[name] for name in values} == values
    blobs = sum(path.stat().st_size for path in tmp_path.glob("db/*.blob"))
    tables = sum(path.stat().st_size for path in tmp_path.glob("db/*.sst"))
    assert blobs > 5 * tables > 0
