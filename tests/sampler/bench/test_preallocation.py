"""A database that is opened only to try a file takes no more of the disk than it writes."""

import re
from pathlib import Path

import pytest

from sampler.bench.installed import InstalledDbBench, as_asked, try_options, without_preallocation
from sampler.rocksdb.options_file import CF, DB, OptionsFile, parse_options

SECTIONS = '[Version]\n[DBOptions]\n{}[CFOptions "default"]\n'


@pytest.mark.parametrize(
    ("given", "tried"),
    [
        ("", "  allow_fallocate=false\n"),
        ("  # allow_fallocate=false\n", "  allow_fallocate=false\n  # allow_fallocate=false\n"),
        ("  allow_fallocate=true\n", "  allow_fallocate=false\n"),
        ("\tallow_fallocate = 1 # why\n", "\tallow_fallocate = false # why\n"),
    ],
)
def test_it_is_turned_off_for_the_trial_and_told_as_asked(given: str, tried: str):
    text = SECTIONS.format(given)
    off = without_preallocation(text)
    assert off == SECTIONS.format(tried)
    assert as_asked(parse_options(off), text, off).get(DB, "allow_fallocate") == "true"
    assert without_preallocation(off) == off


@pytest.mark.parametrize("value", ["false", "0", "maybe", ""])
def test_what_is_off_or_no_value_stays(value: str):
    text = SECTIONS.format(f"  allow_fallocate={value}\n")
    assert without_preallocation(text) == text
    assert as_asked(parse_options(text), text, text) == parse_options(text)


@pytest.mark.db_bench
def test_no_space_is_reserved_for_a_write_buffer_that_nothing_fills(
    installed: InstalledDbBench, tmp_path: Path
):
    large = OptionsFile().with_values(CF, {"write_buffer_size": str(64 * 2**30)})
    tried = try_options(installed.program, large, tmp_path)
    assert tried.options is not None, tried.complaint
    assert tried.options.get(DB, "allow_fallocate") == "true"
    assert tried.options.get(CF, "write_buffer_size") == str(64 * 2**30)
    log = (tmp_path / "db" / "LOG").read_text()
    assert re.findall(r"Options\.allow_fallocate: (\d)", log) == ["0"]


@pytest.mark.db_bench
def test_a_value_that_is_none_is_refused_as_ever(installed: InstalledDbBench, tmp_path: Path):
    text = "[Version]\n  rocksdb_version=7.8.3\n  options_file_version=1.1\n[DBOptions]\n"
    tried = try_options(
        installed.program, f'{text}  allow_fallocate=maybe\n[CFOptions "default"]\n', tmp_path
    )
    assert tried.options is None
    assert "allow_fallocate" in tried.complaint
