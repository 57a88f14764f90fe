"""Where nobody names a build, the one that fits the database measures, and it is said."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine

from api.app import make_app
from api.services.dependencies import builds_here
from db.workloads import keep_workload
from jobs.execution.assembly import assemble, single_bench
from jobs.experiments.comparison import on_one_build
from jobs.experiments.sides import Side
from jobs.profile import profiled
from jobs.specification.named_files import specify
from jobs.specification.specification import (
    on_build_of,
    on_fitting_build,
    specification_from_document,
)
from sampler.bench.builds import FETCHED, fit_words, fitting_build, installed_versions
from sampler.bench.db_bench import DbBench
from sampler.bench.installed import InstalledDbBench
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.workload.workload_file import load_workload, workload_document
from tests.project.test_commands import fetching
from tests.support import DATA
from tests.support.api.callers import QUEUED, admin
from tests.support.sampler.second_builds import of_version

BUILDS = {"default": "7.8.3", "9.10.0": "9.10.0", "11": "11.8.1", "same": "7.8.3"}
NINE = {"default": "7.8.3", "nine": "9.10.0"}
NEW = """\
[Version]
  rocksdb_version=9.10.2
  options_file_version=1.1
[DBOptions]
  write_dbid_to_manifest=true
[CFOptions "default"]
  write_buffer_size=67108864
"""
OLD = NEW.replace("9.10.2", "6.8.1")
TWO_RUNS = DATA / "cases" / "05-study-5.17-options" / "LOG"
CHOSEN = (
    "RocksDB 9.10.0 measures (build nine): of the installed builds the nearest at or above the "
    "database's 9.10.2; `db_bench` names another"
)


@pytest.mark.parametrize(
    ("database", "build"),
    [
        ("6.8.1", None), ("7.8", None), ("7.9.2", "9.10.0"), ("9.10.2", "9.10.0"),
        ("9.11.2", "11"), ("11.8.9", "11"), ("12.0.0", "11"),
    ],
)  # fmt: skip
def test_the_nearest_at_or_above_the_version_or_else_the_newest(database: str, build: str | None):
    assert fitting_build(database, BUILDS) == build


def test_the_one_in_use_measures_where_no_build_works():
    assert fitting_build("9.10.0", {}) is None


@pytest.mark.parametrize(
    ("database", "measures", "named", "said"),
    [
        ("7.8.3", "7.8.3", None, []),
        ("6.8.1", "7.8.3", None, []),
        ("9.10.0", "7.8.3", None, [
            "RocksDB 7.8.3 measures, older than the database's 9.10.0: options that it does not "
            "know are not measured. `make db_bench VERSION=9.10.0` brings a build that knows them"
        ]),
        ("12.1.0", "9.10.0", "9.10.0", [
            "RocksDB 9.10.0 measures, older than the database's 12.1.0: options that it does not "
            "know are not measured. `make db_bench VERSION=11.8.1` brings the nearest one, or "
            "name a build of your own that does: a path as `db_bench`, or "
            "ROCKTUNE_BUILDS=NAME=PATH"
        ]),
        ("8.5.3", "9.10.0", "9.10.0", [
            "RocksDB 9.10.0 measures (build 9.10.0): of the installed builds the nearest at or "
            "above the database's 8.5.3; `make db_bench VERSION=8.10.0` brings a nearer one"
        ]),
        ("9.5.2", "11.8.1", None, [
            "RocksDB 11.8.1 measures, newer than the database's 9.5.2; `make db_bench "
            "VERSION=9.10.0` brings a nearer one"
        ]),
    ],
)  # fmt: skip
def test_what_is_said_names_the_command_that_brings_a_better_one(
    database: str, measures: str, named: str | None, said: list[str]
):
    assert fit_words(database, measures, named=named) == said


def test_the_commands_are_those_that_there_are():
    assert list(FETCHED) == fetching().VERSIONS


@pytest.fixture
def here(settings: Settings, tmp_path: Path) -> Settings:
    """A host with 7.8.3 in use, and what says that it is 9.10.0."""
    nine = of_version(tmp_path, "nine", "9.10.0")
    return settings.model_copy(update={"builds": f"nine={nine},gone=/nowhere/db_bench"})


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "OPTIONS"
    path.write_text(NEW)
    return str(path)


def test_a_chosen_build_parts_no_job_from_those_who_come_back_to_it(file: str):
    plain = specify(baseline=file)
    fitted = on_fitting_build(plain, lambda: NINE)
    assert (fitted.db_bench, fitted.chosen_for) == ("nine", "9.10.2")
    assert fitted.digest() == plain.digest() != specify(baseline=file, db_bench="nine").digest()
    stored = json.loads(json.dumps(fitted.document()))
    assert specification_from_document(stored) == fitted
    later = on_fitting_build(plain, lambda: {"default": "9.11.2"})
    assert on_build_of(later, stored) == fitted
    assert on_build_of(later, plain.document()) == plain, "as a job of an earlier version measured"


def test_without_a_version_or_with_another_benchmark_nothing_is_chosen(tmp_path: Path):
    assert on_fitting_build(specify(), lambda: NINE) == specify()
    assert on_fitting_build(specify(), lambda: NINE, "9.9.1").db_bench == "nine"
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\n[command]\nargv = ["true"]\ntimeout_seconds = 9\n')
    mine = specify(workload=str(path))
    assert on_fitting_build(mine, lambda: NINE, "9.9.1") == mine


@pytest.mark.db_bench
def test_a_job_and_a_single_bench_are_measured_by_it(here: Settings, file: str):
    specification = on_fitting_build(specify(baseline=file), lambda: installed_versions(here))
    assembly = assemble(specification, here)
    assert assembly.installed is not None and assembly.installed.version == "9.10.0"
    assert assembly.warnings[0] == CHOSEN
    how = {"drop_unknown": False, "scale": None, "configuration": {}}
    single = single_bench("load-quick", here, baseline=file, db_bench=None, **how)  # type: ignore[arg-type]
    assert isinstance(single.benchmark, DbBench)
    assert single.benchmark.installed.version == "9.10.0" and single.warnings[0] == CHOSEN
    named = single_bench("load-quick", here, baseline=file, db_bench="default", **how)  # type: ignore[arg-type]
    assert isinstance(named.benchmark, DbBench)
    assert named.benchmark.installed.version == "7.8.3"
    assert not any("measures" in line for line in named.warnings)


@pytest.mark.db_bench
def test_a_refusal_names_the_command_that_brings_a_build(settings: Settings, file: str):
    Path(file).write_text(NEW.replace("[CF", "  metadata_write_temperature=kUnknown\n[CF"))
    with pytest.raises(InputError) as refused:
        assemble(specify(baseline=file), settings)
    said = str(refused.value)
    assert "does not know metadata_write_temperature (since 9.6). `drop_unknown`" in said
    assert said.endswith(". `make db_bench VERSION=9.10.0` brings a build that knows them")


@pytest.mark.db_bench
def test_sides_of_a_comparison_that_name_no_build_have_the_same(here: Settings):
    def side(options: str | None, build: str | None = None) -> Side:
        return Side(asked="x", what="x", values={}, options=options, build=build)

    sides = on_one_build([side(OLD), side(NEW), side(None)], here)
    assert [(each.build, each.notes) for each in sides] == [("nine", (CHOSEN,))] * 3
    explicit = on_one_build([side(NEW, "default"), side(OLD)], here)
    assert [each.build for each in explicit] == ["default", None]
    assert on_one_build([side(None)] * 2, here) == [side(None)] * 2


@pytest.mark.db_bench
def test_a_profile_says_what_an_older_build_does_not_take(here: Settings, settings: Settings):
    found = profiled(TWO_RUNS)
    newer = NEW.replace("[CF", "  metadata_write_temperature=kUnknown\n[CF")
    found = replace(found, profile=replace(found.profile, options=newer))
    told, lost = found.build_lines(settings)
    assert "older than the database's 9.10.2" in told and "`make db_bench VERSION=9.10.0`" in told
    assert lost == "It does not take: metadata_write_temperature"
    assert found.build_lines(here) == [CHOSEN]
    own = replace(found, profile=replace(found.profile, options=None, version="7.8.3"))
    assert own.build_lines(here) == []


@pytest.mark.db_bench
def test_a_job_over_http_is_measured_by_it(
    database: Engine, here: Settings, installed: InstalledDbBench
):
    client = admin(make_app(database, installed=installed, builds=builds_here(here, installed)))

    def made(path: str = "", **more: object) -> tuple[str, str | None, str | None]:
        """Where the job is, its build, and the version that it was chosen for."""
        answer = client.post(path or "/v1/jobs", json=more)
        assert answer.status_code == 201, answer.text
        job = answer.json()
        kept = job["specification"]
        return f"/v1/jobs/{job['id']}/clone", kept["db_bench"], kept["chosen_for"]

    of_file, *told = made(**QUEUED, baseline_options=NEW)
    assert told == ["nine", "9.10.2"]
    assert made(**QUEUED, baseline_options=NEW, db_bench="default")[1:] == (None, None)
    assert made(**QUEUED)[1:] == (None, None)
    assert made(of_file)[1:] == ("nine", "9.10.2")
    assert made(of_file, baseline_options=OLD)[1:] == (None, "6.8.1")
    assert made(of_file, db_bench="nine")[1:] == ("nine", None)
    load = workload_document(load_workload("load-quick"))
    for name, version in (("nine", "9.9.1"), ("none", "of a fork"), ("untold", None)):
        keep_workload(database, {**load, "name": name}, profile={"rocksdb_version": version})
    of_profile, *told = made(workload="nine", trials=20)
    assert told == ["nine", "9.9.1"] and made(of_profile)[1:] == ("nine", "9.9.1")
    for name in ("none", "untold"):
        assert made(workload=name, trials=20)[1:] == (None, None)
