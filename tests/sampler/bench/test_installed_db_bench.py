import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from sampler.bench.bench_plan import BenchPlan, effective_values, unmet_values
from sampler.bench.installed import (
    InstalledDbBench,
    as_asked,
    find_db_bench,
    newest_options,
    probe,
    try_options,
    without_preallocation,
)
from sampler.common.errors import InputError
from sampler.rocksdb.option_values import read_values
from sampler.rocksdb.options_file import CF, DB, TABLE, OptionsFile, format_options, parse_options
from sampler.rocksdb.parameters import Parameter, catalogue
from sampler.space.space_file import SHIPPED
from sampler.workload.workload import Workload
from tests.support.sampler.real_runs import at_baseline_of, drawn
from tests.support.sampler.versions import asserts

pytestmark = pytest.mark.db_bench
ASSERTIONS = "Assertions are enabled; benchmarks unnecessarily slow"
USERS_OWN = """# kept for years
[Version]
  rocksdb_version=6.4.6
  options_file_version=1.1

[DBOptions]
  max_background_jobs=6
  max_open_files=5000
  bytes_per_sync=1048576

[CFOptions "default"]
  write_buffer_size=134217728
  level0_file_num_compaction_trigger=2
  compression=kLZ4Compression
  compression_opts={level=7;max_dict_bytes=16384;}
  compression_per_level=kNoCompression:kNoCompression:kZSTD:kZSTD:kZSTD:kZSTD:kZSTD

[TableOptions/BlockBasedTable "default"]
  block_size=16384
  filter_policy=bloomfilter:10:false
"""


def test_the_version_and_what_to_know_about_the_build_are_found(installed: InstalledDbBench):
    shown = subprocess.run(
        [str(installed.program), "--version"], capture_output=True, text=True, check=False
    )
    assert installed.version in shown.stdout
    assert installed.warnings == ((ASSERTIONS,) if asserts(installed) else ())
    assert {"num", "options_file", "cache_size"} <= installed.flags


def test_an_option_of_another_version_is_not_known(installed: InstalledDbBench):
    own = Parameter(name="batch", section="command", kind="int", default=1, default_db_bench=1)
    assert installed.knows(own), "it is not RocksDB's to know"
    assert not installed.knows(replace(own, section="CFOptions", key="of_tomorrow"))


def test_a_db_bench_that_is_nowhere_is_refused_with_the_mend():
    with pytest.raises(InputError, match="apt-get install rocksdb-tools") as refused:
        find_db_bench("no-such-db-bench")
    assert refused.value.field == "ROCKTUNE_DB_BENCH"


@pytest.mark.parametrize(
    "text", ["not a program\n", "#!/bin/sh\nexit 0\n", "#!/bin/sh\necho broken >&2; exit 5\n"]
)
def test_a_program_that_is_no_db_bench_is_refused_by_name(text: str, tmp_path: Path):
    program = tmp_path / "db_bench"
    program.write_text(text)
    with pytest.raises(InputError, match=r"^ROCKTUNE_DB_BENCH: "):  # it may not be run
        probe(find_db_bench(str(program)))
    program.chmod(0o755)
    with pytest.raises(
        InputError,
        match=r"ROCKTUNE_DB_BENCH: (cannot run \S+/db_bench:|\S+/db_bench does not work:)",
    ) as refused:
        probe(find_db_bench(str(program)))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[DBOptions]\n  no_such_option=1\n[CFOptions "default"]\n', "no_such_option"),
        (
            '[DBOptions]\n  max_background_jobs=many\n[CFOptions "default"]\n',
            "Error parsing max_background_jobs",
        ),
        ('[DBOptions]\n[CFOptions "default"]\n  compression=kBrotli\n', "compression"),
        ("[DBOptions]\n", "single CFOptions:default section"),
    ],
)
def test_rocksdb_s_refusal_of_a_file_is_told_in_its_own_words(
    text: str, words: str, installed: InstalledDbBench, tmp_path: Path
):
    version = "[Version]\n  rocksdb_version=7.8.3\n  options_file_version=1.1\n"
    tried = try_options(installed.program, version + text, tmp_path)
    assert tried.options is None
    assert words.lower() in tried.complaint.lower()


def test_flags_given_beside_a_file_reach_db_bench(installed: InstalledDbBench, tmp_path: Path):
    flags = {"mmap_read": True, "no_such_flag": 1}
    tried = try_options(installed.program, OptionsFile(), tmp_path, flags)
    assert tried.options is None
    assert "unknown command line flag 'no_such_flag'" in tried.complaint


def test_the_options_file_written_last_counts(tmp_path: Path):
    for number, jobs in ((7, 2), (12, 3), (9, 4)):
        options = OptionsFile({DB: {"max_background_jobs": str(jobs)}})
        text = format_options(options, rocksdb_version="7.8.3")
        (tmp_path / f"OPTIONS-{number:06}").write_text(text)
    (tmp_path / "OPTIONS-000099.dbtmp").unlink(missing_ok=True)
    newest = newest_options(tmp_path)
    assert newest is not None and newest.get(DB, "max_background_jobs") == "3"


@pytest.mark.parametrize("text", ["", "[DBOptions]\n  max_ba", "\x00\x01"])
def test_an_options_file_cut_off_by_a_kill_is_none(text: str, tmp_path: Path):
    (tmp_path / "OPTIONS-000007").write_text(text)
    assert newest_options(tmp_path) is None
    assert newest_options(tmp_path / "nowhere") is None


@pytest.mark.parametrize("name", SHIPPED)
def test_rocksdb_accepts_every_drawn_configuration_and_uses_it_as_asked(
    name: str, installed: InstalledDbBench, tmp_path: Path
):
    space = at_baseline_of(installed, name)
    workload = Workload(name="tiny", num=1, scale=64)
    plan = BenchPlan(workload, space, installed.library_defaults())
    for number, configuration in enumerate(drawn(space, 10)):
        folder = tmp_path / str(number)
        folder.mkdir()
        tried = try_options(
            installed.program, plan.options(configuration), folder, plan.flags(configuration)
        )
        assert tried.options is not None, (tried.complaint, configuration)
        effective, changed = effective_values(tried.options, configuration, space, scale=64)
        assert changed == ()
        assert effective == configuration


@pytest.mark.parametrize(("deaths", "taken"), [(1, True), (2, False)])
def test_one_death_of_an_assertion_says_nothing_of_a_file(
    deaths: int, taken: bool, installed: InstalledDbBench, tmp_path: Path
):
    program, folder = tmp_path / "dies.sh", tmp_path / "tried"
    folder.mkdir()
    program.write_text(
        f"#!/bin/sh\necho x >> {tmp_path}/starts\n"
        f'if [ "$(wc -l < {tmp_path}/starts)" -le {deaths} ]; then kill -ABRT $$; fi\n'
        f'exec {installed.program} "$@"\n'
    )
    program.chmod(0o755)
    text = format_options(OptionsFile({}), rocksdb_version="7.8.3")
    tried = try_options(program, text, folder)
    assert (tried.options is not None) is taken
    assert tried.died is not None and "SIGABRT" in tried.died, "the first death is told"
    assert (tmp_path / "starts").read_text().count("x") == 2
    assert try_options(installed.program, text, folder).died is None


@pytest.mark.parametrize("name", ["default", "universal", "blob"])
def test_rocksdb_accepts_what_is_exported_and_uses_it_as_exported(
    name: str, installed: InstalledDbBench, tmp_path: Path
):
    space = at_baseline_of(installed, name)
    plan = BenchPlan(Workload(name="tiny"), space, installed.library_defaults())
    for number, configuration in enumerate(drawn(space, 5)):
        folder = tmp_path / str(number)
        folder.mkdir()
        exported = plan.export(configuration)
        tried = try_options(installed.program, exported, folder)
        assert tried.options is not None, tried.complaint
        assert unmet_values(exported, tried.options, catalogue()) == []
        effective, changed = effective_values(tried.options, configuration, space, scale=1)
        assert (effective, changed) == (configuration, ())


def test_an_export_of_the_library_s_own_defaults_names_next_to_nothing(
    installed: InstalledDbBench,
):
    space = at_baseline_of(installed, "default")
    plan = BenchPlan(Workload(name="tiny"), space, installed.library_defaults())
    named = plan.export(space.default_configuration())
    varying = {p.key for p in space.parameters if p.varies}
    assert {key for keys in named.sections.values() for key in keys} == varying


def test_a_value_that_rocksdb_repairs_is_told(installed: InstalledDbBench, tmp_path: Path):
    space = at_baseline_of(installed, "default")
    asked = {
        "level0_file_num_compaction_trigger": 10,
        "level0_slowdown_writes_trigger": 8,
        "level0_stop_writes_trigger": 4,
        "write_buffer_size": 64 * 2**20,
    }
    plan = BenchPlan(Workload(name="tiny"), space, installed.library_defaults())
    tried = try_options(installed.program, plan.options(asked), tmp_path)
    assert tried.options is not None
    effective, changed = effective_values(tried.options, asked, space, scale=64)
    assert changed == (
        "level0_slowdown_writes_trigger: requested 8, in effect 10",
        "level0_stop_writes_trigger: requested 4, in effect 10",
    )
    assert effective == {
        **asked,
        "level0_slowdown_writes_trigger": 10,
        "level0_stop_writes_trigger": 10,
    }
    assert len(unmet_values(plan.options(asked), tried.options, catalogue())) == 2


def test_a_scaled_size_that_was_repaired_is_told_at_full_scale(
    installed: InstalledDbBench, tmp_path: Path
):
    space = at_baseline_of(installed, "default")
    plan = BenchPlan(Workload(name="tiny"), space, installed.library_defaults())
    asked = {"write_buffer_size": 2**20}  # at scale 64 below RocksDB's least, 64 KiB
    tried = try_options(installed.program, plan.options(asked), tmp_path)
    assert tried.options is not None
    effective, changed = effective_values(tried.options, asked, space, scale=64)
    assert effective == {"write_buffer_size": 64 * 64 * 2**10}
    assert changed == ("write_buffer_size: requested 16384, in effect 65536",)


def test_a_user_s_own_file_is_read_as_the_baseline():
    found = read_values(parse_options(USERS_OWN), catalogue().values())
    assert found == {
        "max_background_jobs": 6,
        "bytes_per_sync": 2**20,
        "write_buffer_size": 128 * 2**20,
        "level0_file_num_compaction_trigger": 2,
        "compression_type": "zstd",  # RocksDB passes over the key beside a list of codecs
        "compression_level": 7,
        "compression_max_dict_bytes": 16384,
        "min_level_to_compress": 2,
        "block_size": 16384,
        "bloom_bits": 10,
    }


def test_a_trial_changes_a_user_s_own_file_only_where_it_is_asked_to(
    installed: InstalledDbBench, tmp_path: Path
):
    file = parse_options(USERS_OWN)
    library = installed.library_defaults()
    found = read_values(file, catalogue().values())
    space = at_baseline_of(installed, "default").at_baseline({**library, **found})
    plan = BenchPlan(Workload(name="tiny"), space, library, file)
    options = plan.options({"max_background_jobs": 8, "compression_type": "snappy"})
    tried = try_options(installed.program, options, tmp_path)
    assert tried.options is not None, tried.complaint
    assert tried.options.get(DB, "max_background_jobs") == "8"
    assert tried.options.get(DB, "max_open_files") == "5000"
    assert tried.options.get(CF, "write_buffer_size") == str(2 * 2**20)
    assert tried.options.get(CF, "compression") == "kSnappyCompression"
    codecs = (tried.options.get(CF, "compression_per_level") or "").split(":")
    assert set(codecs[2:]) == {"kSnappyCompression"}
    assert tried.options.get(CF, "compression_opts.level") == "7"
    assert tried.options.get(TABLE, "block_size") == "16384"
    exported = plan.export({"max_background_jobs": 8})
    assert exported.get(DB, "max_open_files") == "5000"
    assert exported.get(CF, "write_buffer_size") == str(128 * 2**20)


# A database that is opened only to try a file takes no more of the disk than it writes.
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


def test_a_value_that_is_none_is_refused_as_ever(installed: InstalledDbBench, tmp_path: Path):
    text = "[Version]\n  rocksdb_version=7.8.3\n  options_file_version=1.1\n[DBOptions]\n"
    tried = try_options(
        installed.program, f'{text}  allow_fallocate=maybe\n[CFOptions "default"]\n', tmp_path
    )
    assert tried.options is None
    assert "allow_fallocate" in tried.complaint
