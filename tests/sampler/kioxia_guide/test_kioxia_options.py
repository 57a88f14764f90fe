"""The guide's OPTIONS files: TRocksDB's, and the one that the real db_bench takes."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from test_kioxia_guide import EXAMPLE

from sampler.bench.bench_plan import unmet_values
from sampler.bench.installed import InstalledDbBench, newest_options, try_options
from sampler.rocksdb.option_values import read_values
from sampler.rocksdb.options_file import CF, DB, parse_options
from sampler.rocksdb.parameters import catalogue
from sampler.space.kioxia_guide import (
    COUNTERPARTS,
    PRESET,
    WITHOUT_COUNTERPART,
    Planned,
    compute_guide,
    rocksdb_text,
    rocksdb_values,
    trocksdb_text,
)

LARGE = replace(EXAMPLE, cpu_threads=256, value_size=20_000_000)
SMALL = replace(EXAMPLE, cpu_threads=1, keys=1000, memory=1)


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
