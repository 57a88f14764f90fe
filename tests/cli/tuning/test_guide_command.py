"""`rocktune guide`: the worked example at the terminal, its files, its refusals."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Here = Callable[..., int]
Capture = pytest.CaptureFixture[str]
EXAMPLE = ["guide", "--keys", "8e9", "--key-size", "20", "--value-size", "800",
           "--cpu-threads", "48", "--memory", "128GB"]  # fmt: skip


def test_settings_levels_and_translation_are_printed(here: Here, capsys: Capture):
    assert here(*EXAMPLE) == 0
    printed = capsys.readouterr()
    rows = [line.split() for line in printed.out.splitlines()]
    for row in (
        ["max_background_jobs", "48"],
        ["target_file_size_base", "8000000", "8", "MB"],
        ["6", "262144", "2097152000000", "2.097", "TB"],
        ["total", "299592", "2396736000000", "2.397", "TB"],
        ["vlogfile_max_size", "160000000", "blob_file_size", "160000000"],
    ):
        assert any(found[: len(row)] == row for found in rows), row
    assert printed.err == ""


def test_json_alone_on_standard_output_and_both_files_in_the_folder(
    here: Here, capsys: Capture, tmp_path: Path
):
    out = tmp_path / "guided"
    assert here(*EXAMPLE, "--memory", "1GB", "--json", "--out", out) == 0
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert document["settings"]["write_buffer_size"] == 168_000_000
    assert document["levels"][0] == {"level": 1, "files": 8, "bytes": 64_000_000}
    assert [each["setting"] for each in document["warnings"]] == ["write_buffer_size"]
    assert "rocktune: warning: write_buffer_size: 13 write buffers" in printed.err
    assert {path.name: path.read_text() for path in out.iterdir()} == document["options"]
    assert set(document["options"]) == {"OPTIONS.trocksdb.ini", "OPTIONS.rocksdb.ini"}


def test_what_is_wrong_is_told_in_one_line(here: Here, capsys: Capture):
    assert here(*EXAMPLE, "--keys", "many", "--cpu-threads", "0") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    assert "--keys: 'many' is not a whole number" in line
    assert "--cpu-threads: 0 is out of range" in line


def test_it_is_among_the_starting_points(here: Here, capsys: Capture):
    assert here("starts") == 0
    assert "guide " in capsys.readouterr().out
    assert here("starts", "guide") == 0
    assert "KIOXIA" in capsys.readouterr().out
    assert here("starts", "gide") == 2
    assert "guide" in capsys.readouterr().err


def test_starts_are_listed_by_class_and_shown_with_sources(here: Here, capsys: Capture):
    assert here("starts") == 0
    assert "for loads that write: library, writing-leveled, " in capsys.readouterr().out
    assert here("starts", "writing-leveled") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "max_background_jobs: cores, at least 4" in lines
    assert lines[lines.index("block_size: 16384") + 1] == (
        "    RocksDB wiki, Setup Options and Basic Tuning"
    )


def test_starts_of_a_workload_are_as_a_job_would_set_them(here: Here, capsys: Capture):
    assert here("starts", "--for", "load-quick") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "writing-leveled"
    assert "    max_bytes_for_level_base: 536870912" in lines
    assert here("starts", "writing-leveled", "--for", "load-quick") == 2
    assert "--for: give either a name or --for" in capsys.readouterr().err
