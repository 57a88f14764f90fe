"""``scripts/rocksdb_options.py`` finds in headers what the table of options lacks."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from sampler.rocksdb.option_facts import option_facts
from tests.support import ROOT

# Declarations as RocksDB's headers have them, of a release that does not exist.
HEADERS = {
    "version.h": "#define ROCKSDB_MAJOR 99\n#define ROCKSDB_MINOR 2\n",
    "options.h": """
        struct ColumnFamilyOptions : public AdvancedColumnFamilyOptions {
          size_t write_buffer_size = 64 << 20;  // bytes; not = 1
          /* bool commented_out = true; */
        };
        struct DBOptions {
          static const char* kName() { return "DBOptions"; }
          int max_open_files = 5000;
          #ifdef SOMETHING
          uint64_t wal_shards = 2 * 8ull;
          #endif
          std::shared_ptr<RateLimiter> rate_limiter = nullptr;
          enum Inner { kOne };
          void Dump(Logger* log) const;
        };
    """,
    "advanced_options.h": """
        struct AdvancedColumnFamilyOptions {
          double max_bytes_for_level_multiplier = 10;
        };
    """,
    "table.h": "struct BlockBasedTableOptions {};",
}  # fmt: skip


@pytest.fixture
def include(tmp_path: Path) -> Path:
    (tmp_path / "rocksdb").mkdir()
    for name, text in HEADERS.items():
        (tmp_path / "rocksdb" / name).write_text(text)
    return tmp_path


def run(*arguments: object) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/rocksdb_options.py", *map(str, arguments)],
        capture_output=True, text=True,
    )  # fmt: skip
    assert not done.stderr
    return done.returncode, done.stdout.splitlines()


def test_an_unknown_option_is_a_row_and_other_defaults_and_missing_keys_are_named(
    include: Path,
) -> None:
    status, lines = run(include)
    assert status == 1
    rows = [line for line in lines if line.count(",") > 10]
    with (ROOT / "sampler/rocksdb/rocksdb_options.csv").open() as file:
        columns = next(csv.reader(file))
    (row,) = (dict(zip(columns, each, strict=True)) for each in csv.reader(rows))
    assert {key: value for key, value in row.items() if value} == {
        "section": "DBOptions", "key": "wal_shards", "type": "uint",
        "since": "<=99.2", "later": "99.2=16",
    }  # fmt: skip
    others = [line for line in lines if line not in rows]
    assert others[0] == "DBOptions max_open_files: 5000 in 99.2, -1 in the table"
    missing = {line.split(":")[0] for line in others[1:]}
    assert "CFOptions num_levels" in missing
    # Neither what is declared, nor what is ignored since long, nor a field of a structure.
    assert not missing & {"CFOptions write_buffer_size", "DBOptions allow_os_buffer"}
    assert len(missing) < len(option_facts())


@pytest.mark.slow
def test_a_folder_without_headers_is_one_line(tmp_path: Path) -> None:
    status, lines = run(tmp_path)
    assert status == 2 and len(lines) == 1 and "rocksdb/options.h" in lines[0]
    assert run()[0] == 2
