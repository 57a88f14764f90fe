"""Filters and caches that an application sets in code, from its LOG into its OPTIONS file."""

import re
import subprocess
from pathlib import Path

import pytest

from jobs.specification.resolved_job import measured_baseline
from sampler.bench.installed import InstalledDbBench
from sampler.profile.application_objects import FilteredTable, as_it_was, filter_policy, with_cache
from sampler.profile.reading import read_profile
from sampler.rocksdb.application import application_steps
from sampler.rocksdb.options_file import format_options, parse_options
from sampler.space.space_file import load_space
from sampler.workload.workload_file import workload_from_document
from tests.support import DATA

APPLICATIONS = DATA / "applications"
MIB = 2**20
# By folder and column family: what the program asked for (tests/data/applications).
BOTH = {
    "bloom-5": {"default": "bloomfilter:5:false"}, "bloom-10": {"default": "bloomfilter:10:false"},
    "none": {"default": None}, "prefix-10": {"default": "bloomfilter:10:false"},
    "partitioned-10": {"default": "bloomfilter:10:false"},
    "families": {
        "default": "bloomfilter:10:false", "users": "bloomfilter:5:false", "events": None,
    },
}  # fmt: skip
ASKED = {
    **{f"c-7.8.3-{name}": asked for name, asked in BOTH.items()},
    **{f"rocksdict-9.8.4-{name}": asked for name, asked in BOTH.items()},
    "c-7.8.3-bloom-15.5": {"default": "bloomfilter:15.5:false"},
    "c-7.8.3-ribbon-10": {"default": "ribbonfilter:10:-1"},
    "c-7.8.3-ribbon-hybrid-10": {"default": "ribbonfilter:10:0"},
}
MEASURED = (
    "c-7.8.3-bloom-15.5", "c-7.8.3-ribbon-10", "c-7.8.3-ribbon-hybrid-10", "c-7.8.3-prefix-10",
    "c-7.8.3-partitioned-10", "rocksdict-9.8.4-families",
)  # fmt: skip


def own_text(folder: Path) -> str:
    return next(folder.glob("OPTIONS-*")).read_text()


def profile_text(folder: Path) -> str:
    text = read_profile(folder).options
    assert text is not None
    return text


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
def test_the_filter_that_the_program_asked_for_stands_in_the_file(name: str):
    profile = read_profile(APPLICATIONS / name)
    assert {each.name: each.filter_policy for each in profile.families} == ASKED[name]
    assert {each.block_cache for each in profile.families} == {64 * MIB}
    assert profile.options is not None
    file = parse_options(profile.options)
    for family, policy in ASKED[name].items():
        text = file.get(f'TableOptions/BlockBasedTable "{family}"', "filter_policy")
        assert text == (policy or "nullptr")
    # The user's own file is what is left without it, to the byte.
    whole = with_cache(profile.options, "default", 64 * MIB)
    assert parse_options(whole).get('TableOptions/BlockBasedTable "default"', "block_cache")
    assert as_it_was(whole) == own_text(APPLICATIONS / name)


def cut(folder: Path, name: str, change: tuple[str, str]) -> Path:
    """A copy of an application's folder, in whose LOG a pattern is replaced."""
    folder.mkdir()
    for each in (APPLICATIONS / name).iterdir():
        text = each.read_text()
        (folder / each.name).write_text(
            re.sub(*change, text) if each.name == "LOG" else text, newline=""
        )
    return folder


def test_without_the_filters_own_count_the_tables_entries_are_told_with_doubt(tmp_path: Path):
    older = cut(tmp_path / "older", "c-7.8.3-bloom-10", (r'"num_filter_entries": \d+, ', ""))
    (family,) = read_profile(older).families
    assert family.filter_policy == "bloomfilter:10:false"
    source = family.sources["filter_policy"]
    assert source.sure == "assumed"
    assert "num_entries" in source.where


def test_without_any_table_the_filter_stays_unknown(tmp_path: Path):
    without = cut(tmp_path / "without", "c-7.8.3-bloom-10", (r".*table_file_creation.*\n", ""))
    profile = read_profile(without)
    assert profile.families[0].filter_policy is None
    assert profile.options == own_text(without)


def test_a_family_without_tables_is_taken_to_be_as_the_others(tmp_path: Path):
    tables = r'.*"cf_name": "users".*table_file_creation.*\n'
    some = cut(tmp_path / "some", "c-7.8.3-families", (tables, ""))
    users = read_profile(some).family("users")
    assert users.filter_policy == "bloomfilter:10:false"
    assert users.sources["filter_policy"].sure == "assumed"


def test_objects_of_the_database_are_named(tmp_path: Path):
    limited = cut(
        tmp_path / "limited", "c-7.8.3-none",
        (r"Options\.rate_limiter: .*", "Options.rate_limiter: 0x55d0c0a81"),
    )  # fmt: skip
    text = profile_text(limited)
    assert text.startswith("# Rocktune: set in the program, by the database's LOG: rate limiter")
    assert any(each.startswith("rate limiter (") for each in application_steps(text))
    assert as_it_was(text) == own_text(limited)


@pytest.mark.parametrize(
    ("sizes", "name", "policy"),
    [
        # Of public LOGs: a cache in Rust (10.9.1), a service in Python (9.8.4).
        ([(7621, 6051), (13637, 10891)], "bloomfilter", "bloomfilter:10:false"),
        ([(6341, 5022), (65925, 52692), (186117, 148840)], "bloomfilter", "bloomfilter:10:false"),
        # By 7.8.3, asked for 4, 8, 16 and 20 bits.
        ([(8229, 22573)], "ribbonfilter", "ribbonfilter:4:-1"),
        ([(16117, 22573)], "ribbonfilter", "ribbonfilter:8:-1"),
        ([(30213, 22573)], "ribbonfilter", "ribbonfilter:16:-1"),
        ([(36709, 22573)], "ribbonfilter", "ribbonfilter:20:-1"),
        # Sizes that no number of bits explains: fitted to the allocator.
        ([(13000, 10000), (11900, 10000)], "bloomfilter", "bloomfilter:10:false"),
    ],
)
def test_bits_follow_from_sizes(sizes: list[tuple[int, int]], name: str, policy: str):
    found = filter_policy([FilteredTable(size, entries) for size, entries in sizes], name)
    assert found is not None
    assert found[0] == policy


def test_without_a_filter_there_is_no_policy():
    assert filter_policy([], "bloomfilter") is None


@pytest.mark.db_bench
@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURED)
def test_the_filter_is_measured(name: str, installed: InstalledDbBench, tmp_path: Path):
    text = profile_text(APPLICATIONS / name)
    document = {
        "name": "mine", "help": "absent keys", "key_size": 16, "value_size": 100, "num": 20_000,
        "benchmarks": ["fillrandom"], "settle": "flush", "scale": 1, "timeout_seconds": 60,
    }  # fmt: skip
    load = workload_from_document(document)
    for family, policy in ASKED[name].items():
        baseline = measured_baseline(
            load, installed, library=installed.library_defaults(), options=text,
            column_family=family, drop_unknown=True,
        )  # fmt: skip
        plan = baseline.plan(load, load_space("all"))
        folder = tmp_path / family
        folder.mkdir()
        file = folder / "OPTIONS.ini"
        file.write_text(format_options(plan.options({}), rocksdb_version=installed.version))
        done = subprocess.run(
            [
                installed.program, f"--options_file={file}", f"--db={folder / 'db'}",
                "--num=20000", "--value_size=100", "--reads=2000", "--statistics",
                "--benchmarks=fillrandom,flush,readmissing", "--seed=1",
            ],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        counts = dict(re.findall(r"rocksdb\.(bloom\.filter[\w.]*) COUNT : (\d+)", done.stdout))
        kept_out = sum(int(n) for key, n in counts.items() if key.endswith("useful"))
        log = (folder / "db" / "LOG").read_text()
        sizes = [int(size) for size in re.findall(r'"filter_size": (\d+)', log)]
        assert sizes
        if policy is None:
            assert (kept_out, set(sizes)) == (0, {0})
        else:
            assert 0 not in sizes
            assert kept_out > 2000  # each key is looked for in several tables
