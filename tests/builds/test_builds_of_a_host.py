from pathlib import Path

import pytest

from sampler.bench.builds import build_facts, builds_of, facts_in_log, installed_build, program_of
from sampler.bench.installed import find_db_bench
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from tests.support.sampler.second_builds import build, with_default

LOG = """\
2026/11/21-20:04:42.01 22975 RocksDB version: 10.2.1
2026/11/21-20:04:42.01 22975 Git sha 1dfa7297aa
2026/11/21-20:04:42.01 22975 Compile date 2026-08-07 12:33:41
2026/11/21-20:04:42.01 22975 Compression algorithms supported:
2026/11/21-20:04:42.01 22975 	kZSTD supported: 1
2026/11/21-20:04:42.01 22975 	kXpressCompression supported: 0
2026/11/21-20:04:42.01 22975 	kLZ4Compression supported: 1
2026/11/21-20:04:42.01 22975 Jemalloc supported: 1
"""


def named(settings: Settings, builds: str) -> Settings:
    return settings.model_copy(update={"builds": builds})


@pytest.mark.db_bench
def test_the_one_in_use_comes_first_and_what_does_not_work_says_why(
    settings: Settings, tmp_path: Path
):
    other = build(tmp_path, "other")
    found = builds_of(named(settings, f"9.7={other}, gone=/nowhere/db_bench, no=/bin/true"))
    assert [each.name for each in found] == ["default", "9.7", "gone", "no"]
    default, further, gone, no = found
    assert default.program == str(find_db_bench("db_bench"))
    assert further.program == str(other)
    assert default.facts.version == further.facts.version == "7.8.3"
    assert default.facts.assertions
    assert default.facts.optimised
    assert "ZSTD" in default.facts.codecs
    assert default.facts.compiled == further.facts.compiled
    assert default.facts.digest != further.facts.digest
    assert (gone.facts, no.facts) == (None, None)
    assert gone.problem is not None
    assert "/nowhere/db_bench" in gone.problem
    assert no.problem is not None
    assert "does not work" in no.problem


@pytest.mark.db_bench
def test_what_was_fetched_is_a_build_by_its_version(settings: Settings, tmp_path: Path):
    fetched = tmp_path / "builds"
    for version in ("9.10.0", ".10.4.2.half-made", "11.8.1"):
        (fetched / version).mkdir(parents=True)
    build(fetched / "9.10.0", "db_bench")
    build(fetched / ".10.4.2.half-made", "db_bench")
    own = build(tmp_path, "own")
    here = settings.model_copy(update={"build_dir": fetched})
    assert [each.name for each in builds_of(here)] == ["default", "9.10.0"]
    assert program_of("9.10.0", here) == fetched / "9.10.0" / "db_bench"
    # A name that the user gave goes before what was fetched.
    assert program_of("9.10.0", named(here, f"9.10.0={own}")) == own
    with pytest.raises(InputError, match=r"use one of default, 9\.10\.0, .* VERSION=11\.8\.1`"):
        program_of("11.8.1", here)


@pytest.mark.db_bench
def test_a_program_is_asked_once_until_it_changes(tmp_path: Path):
    asked = tmp_path / "asked"
    program = build(tmp_path, "counted", f"echo >> {asked}\n")
    first = build_facts(program)
    assert build_facts(program) == first
    assert len(asked.read_text()) == 1
    program.write_text(program.read_text() + "# and more\n")
    assert build_facts(program).digest != first.digest
    assert len(asked.read_text()) == 2


def test_what_a_newer_rocksdb_says_of_itself_is_read():
    assert facts_in_log(LOG) == {
        "source": "1dfa7297aa",
        "compiled": "2026-08-07 12:33:41",
        "codecs": ("LZ4Compression", "ZSTD"),
        "jemalloc": True,
    }
    assert facts_in_log("")["jemalloc"] is None
    assert facts_in_log("x Git sha 0\n")["source"] is None


@pytest.mark.parametrize("text", ["9.7", "=x", "9.7=", "a b=x", "a=x,a=y", "default=x", "../x=y"])
def test_a_list_that_is_none_is_refused(settings: Settings, text: str):
    with pytest.raises(InputError) as refused:
        builds_of(named(settings, text))
    assert refused.value.field == "ROCKTUNE_BUILDS"


@pytest.mark.db_bench
def test_a_name_or_a_path_leads_to_the_program(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    other = build(tmp_path, "other")
    here = named(settings, f"9.7={other}")
    monkeypatch.chdir(tmp_path)
    assert program_of("9.7", here) == program_of("./other", here) == other
    assert program_of(str(other), here) == other
    assert program_of(None, here) == program_of("default", here) == find_db_bench("db_bench")


def test_an_unknown_name_is_told_with_those_that_are_known(settings: Settings):
    with pytest.raises(InputError) as refused:
        program_of("10.2", named(settings, "9.7=/opt/9.7/db_bench"))
    assert refused.value.field == "db_bench"
    assert "'10.2'" in refused.value.problem
    assert "default, 9.7" in refused.value.problem


def test_a_program_that_is_not_there_is_told_where_it_was_named(settings: Settings):
    here = named(settings, "9.7=/nowhere/db_bench")
    with pytest.raises(InputError, match="/nowhere/db_bench") as refused:
        program_of("9.7", here)
    assert refused.value.field == "ROCKTUNE_BUILDS (9.7)"
    with pytest.raises(InputError, match="/else/where") as refused:
        program_of("/else/where", here, field="NEW")
    assert refused.value.field == "NEW"
    with pytest.raises(InputError) as refused:
        installed_build("/bin/true", here, field="OLD")
    assert refused.value.field == "OLD"


@pytest.mark.db_bench
def test_the_named_build_is_the_one_that_is_tried(settings: Settings, tmp_path: Path):
    other = with_default(tmp_path, "other", "num_levels", "5")
    here = named(settings, f"five={other}")
    assert installed_build("five", here).library_defaults()["num_levels"] == 5
    assert installed_build(None, here).library_defaults()["num_levels"] == 7


@pytest.mark.db_bench
def test_a_default_that_is_no_longer_the_special_value_is_the_builds_own(
    settings: Settings, tmp_path: Path
):
    read_ahead = "compaction_readahead_size"
    other = with_default(tmp_path, "other", read_ahead, "2097152", section="DB")
    here = named(settings, f"newer={other}")
    newer, own = (installed_build(name, here).library_defaults() for name in ("newer", None))
    assert (own[read_ahead], newer[read_ahead]) == (0, 2097152)
    # What comes of 0 is 25 files in both: there it still means "automatic".
    assert own["max_compaction_bytes"] == newer["max_compaction_bytes"] == 0
