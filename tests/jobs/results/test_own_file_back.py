"""A user's OPTIONS file comes back as it was but for what has changed, and RocksDB loads it."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from jobs.results.export import difference_of, export_options
from jobs.specification.resolved_job import measured_baseline
from sampler.bench.bench_plan import BenchPlan
from sampler.bench.installed import InstalledDbBench, try_options
from sampler.rocksdb.forms import read_user_options
from sampler.rocksdb.options_file import CF, DB, TABLE, parse_options
from sampler.rocksdb.parameters import Value
from sampler.space.space_file import load_space
from sampler.workload.workload_file import load_workload
from tests.support import DATA

CASES = DATA / "cases"
MIB = 2**20
TUNED = {"write_buffer_size": 33554432, "bloom_bits": 12, "max_background_jobs": 6}

pytestmark = pytest.mark.db_bench


def plan_of(file: Path, installed: InstalledDbBench, family: str | None = None) -> BenchPlan:
    load = load_workload("load")
    found = measured_baseline(
        load,
        installed,
        library=installed.library_defaults(),
        options=file.read_bytes().decode(),
        column_family=family,
        drop_unknown=True,
    )
    return found.plan(load, load_space("all"))


def exported(
    file: Path, installed: InstalledDbBench, tuned: Mapping[str, Value], family: str | None = None
) -> str:
    return export_options(plan_of(file, installed, family), installed, tuned, ["Tuned"])


def own_lines(text: str) -> list[str]:
    """The lines of an exported file that neither Rocktune wrote nor those below such a line."""
    lines = iter(text.splitlines(keepends=True))
    kept = []
    for line in lines:
        told = line.lstrip().startswith("# Rocktune: ")
        while told and line.lstrip().startswith("# Rocktune: "):
            line = next(lines)
        kept += [] if told else [line]
    return kept


def two_families(folder: Path) -> Path:
    """A public file of one family, with a second one that has a custom comparator."""
    first = (CASES / "05-study-5.17-options/OPTIONS").read_text()
    second = (CASES / "04-ardb-custom-comparator-5.14/OPTIONS").read_text()
    second = second[second.index("[CFOptions") :].replace('"default"', '"a"quote"')
    path = folder / "OPTIONS"
    path.write_bytes(f"{first}\n{second}".replace("\n", "\r\n").encode())
    return path


@pytest.mark.parametrize("name", [
    "01-kafka-streams-6.8-options/OPTIONS", "04-ardb-custom-comparator-5.14/OPTIONS",
    "08-llm-tuner-inputs/kvrocks_default_options.ini", "09-rocksdb-own-example-4.3/OPTIONS.ini",
    "15-block-cache-in-file/structure.ini", "17-rocksdb-own-tests/options_test.ini",
])  # fmt: skip
def test_public_files_come_back_with_the_changes_alone(name: str, installed: InstalledDbBench):
    own = (CASES / name).read_bytes().decode()
    text = exported(CASES / name, installed, TUNED)
    found = read_user_options(text)
    assert found.get(CF, "write_buffer_size") == "33554432"
    assert found.get(DB, "max_background_jobs") == "6"
    assert found.get(TABLE, "filter_policy") == "bloomfilter:12:false"
    body = text[text.index(own.splitlines()[0]) :]
    kept, mine = own_lines(body), own.splitlines(keepends=True)
    left = iter(mine)
    assert all(line in left for line in kept if line.strip() and "[TableOptions" not in line)
    gone = {line.partition("=")[0].strip() for line in mine if line not in kept}
    assert gone <= {
        "write_buffer_size", "filter_policy", "max_background_jobs", "arena_block_size",
        "max_background_compactions", "max_background_flushes",
    }  # fmt: skip


@pytest.mark.parametrize(("old", "gone"), [
    ({"max_background_flushes": "-1", "max_background_compactions": "-1"}, set()),
    ({"max_background_flushes": "-1", "max_background_compactions": "3"},
     {"max_background_compactions"}),
])  # fmt: skip
def test_an_old_option_that_overrides_nothing_stays(
    old: Mapping[str, str], gone: set[str], installed: InstalledDbBench, tmp_path: Path
):
    path = tmp_path / "OPTIONS"
    lines = "".join(f"  {key}={value}\n" for key, value in old.items())
    path.write_text(f'[DBOptions]\n{lines}[CFOptions "default"]\n')
    text = exported(path, installed, {"max_background_jobs": 6})
    found = read_user_options(text)
    assert found.get(DB, "max_background_jobs") == "6"
    assert old.keys() - found.sections[DB].keys() == gone
    assert text.count("removed: it would override max_background_jobs") == len(gone)


def test_what_the_application_has_stands_in_the_file_again(installed: InstalledDbBench):
    path = CASES / "04-ardb-custom-comparator-5.14/OPTIONS"
    text = exported(path, installed, TUNED)
    for line in (
        "  comparator=ardb.comparator\n", "  merge_operator=ardb.merger\n",
        "  prefix_extractor=ardb.prefix_extractor\n",
        "  compaction_filter_factory=ardb.compact_filter_factory\n",
    ):  # fmt: skip
        assert line in text
        assert f"# Not measured as in your file: {line.strip().replace('=', ' = ')}: " in text


def test_of_two_families_only_the_named_one_changes(installed: InstalledDbBench, tmp_path: Path):
    path = two_families(tmp_path)
    own = path.read_bytes().decode()
    text = exported(path, installed, {"write_buffer_size": 33554432}, 'a"quote')
    start = own.index('[CFOptions "a"quote"]')
    place = text.index('[CFOptions "a"quote"]')
    assert text[:place].endswith(own[:start])
    kept, mine = own_lines(text[place:]), own[start:].splitlines(keepends=True)
    assert [line for line in mine if line not in kept] == [
        line for line in mine if line.startswith(("  write_buffer_size=", "  arena_block_size="))
    ]
    assert kept == [line for line in mine if line in kept]
    assert "\n" not in text.replace("\r\n", "")
    view = read_user_options(text, family='a"quote')
    assert view.get(CF, "write_buffer_size") == "33554432"
    assert try_options(installed.program, view.without(CF, ["comparator"])).options is not None
    assert read_user_options(text) == read_user_options(own)


def test_a_byte_order_mark_is_left_out_and_told(installed: InstalledDbBench, tmp_path: Path):
    path = tmp_path / "OPTIONS"
    path.write_bytes('\ufeff[DBOptions]\n[CFOptions "default"]\n'.encode())
    text = exported(path, installed, {"write_buffer_size": 33554432})
    assert "\ufeff" not in text and "# The byte order mark of your file is removed" in text


def test_a_spelling_of_ones_own_is_kept_where_the_value_is(
    installed: InstalledDbBench, tmp_path: Path
):
    path = tmp_path / "OPTIONS"
    own = '[DBOptions]\n[CFOptions "default"]\n  write_buffer_size = 32M\n  num_levels= 5\n'
    path.write_text(own)
    text = exported(path, installed, {"write_buffer_size": 32 * MIB})
    assert text.partition("# Tuned\n")[2] == own
    text = exported(path, installed, {"write_buffer_size": 32 * MIB, "num_levels": 6})
    assert text.endswith("  write_buffer_size = 32M\n  # Rocktune: was 5\n  num_levels= 6\n")


def test_the_difference_is_one_that_patch_applies(installed: InstalledDbBench, tmp_path: Path):
    path = two_families(tmp_path)
    text = exported(path, installed, TUNED, 'a"quote')
    own = path.read_bytes().decode()
    difference = difference_of(own, text)
    ran = subprocess.run(
        ["patch", "--binary", str(path)], input=difference.encode(), capture_output=True
    )
    assert ran.returncode == 0, ran.stdout
    assert path.read_bytes().decode() == text


def test_there_is_no_difference_without_a_file_of_the_users_or_a_better_one():
    assert difference_of(None, "text") is None
    assert difference_of("text", None) is None


def test_rocksdb_opens_all_families_with_the_patched_file(
    installed: InstalledDbBench, tmp_path: Path
):
    """By ``ldb``, which loads the newest OPTIONS file of the database."""
    database = tmp_path / "db"
    ldb = ["ldb", f"--db={database}"]
    for command in (
        ["--create_if_missing", "put", "a", "b"],
        ["create_column_family", 'with"quote'],
        ["create_column_family", "hash#colon:x"],
    ):
        subprocess.run([*ldb, *command], check=True, capture_output=True)
    newest = max(database.glob("OPTIONS-*"))
    text = exported(newest, installed, TUNED | {"num_levels": 5}, 'with"quote')
    newest.write_bytes(text.encode())

    def put() -> "subprocess.CompletedProcess[str]":
        asked = [*ldb, "--column_family=hash#colon:x", "put", "c", "d"]
        return subprocess.run(asked, capture_output=True, text=True, check=False)

    assert put().stdout == "OK\n"
    newest = max(database.glob("OPTIONS-*"))  # which RocksDB has written again
    effect = parse_options(newest.read_text())
    assert effect.as_default('with"quote').get(CF, "num_levels") == "5"
    assert effect.as_default('with"quote').get(CF, "write_buffer_size") == "33554432"
    assert effect.as_default("hash#colon:x").get(CF, "num_levels") == "7"
    newest.write_bytes(text.replace("num_levels=5", "num_levels=five").encode())
    assert "Error parsing num_levels" in put().stderr
