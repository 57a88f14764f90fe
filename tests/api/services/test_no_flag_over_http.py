"""Values that pretend to be flags of db_bench: refused by name, or never more than one value."""

import json
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from jobs.execution.assembly import assemble
from jobs.queue.service_settings import ServiceSettings
from jobs.specification.resolved_job import ResolvedJob
from jobs.specification.specification import specification_from_document
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.rocksdb.options_file import DB, parse_options
from tests.support.api.callers import EXTERNAL, QUEUED, errors_of, send, submit
from tests.support.jobs.instant import write_workload

pytestmark = pytest.mark.one_database

Body = dict[str, Any]
Served = Callable[..., TestClient]
BASELINE = """\
[DBOptions]
  max_open_files=500
[CFOptions "default"]
  compression=kZlibCompression
[TableOptions/BlockBasedTable "default"]
  checksum=kCRC32c
"""
# Flags of db_bench that take any text, and that no benchmark of a load reads.
TEXT_FLAGS = (
    "access_count_buckets", "analyze_callers", "analyze_correlation_coefficients_labels",
    "analyze_get_spatial_locality_buckets", "analyze_get_spatial_locality_labels",
    "block_cache_sim_config_path", "block_cache_trace_path", "human_readable_trace_file_path",
    "reuse_distance_buckets", "reuse_distance_labels", "reuse_interval_buckets",
    "reuse_interval_labels", "reuse_lifetime_buckets", "reuse_lifetime_labels", "skew_buckets",
    "skew_labels", "timeline_labels",
)  # fmt: skip


def hostile(target: str) -> tuple[str, ...]:
    """A value, and after it what would be a flag, another option or a command of its own."""
    return (
        f"lz4 --db={target}", f"lz4\n--db={target}", f"lz4\r--db={target}", f"--db={target}",
        f"lz4\t--wal_dir={target}", f"lz4\n  wal_dir={target}", f"lz4\u2028  wal_dir={target}",
        f"lz4;wal_dir={target}", f"lz4\\\n  env={target}", f"--env_uri=file://{target}",
        f"lz4' '--db={target}", f"$(touch {target})", f"`touch {target}`", f"lz4; touch {target}",
        f"--flagfile={target}", "{directory}",
    )  # fmt: skip


def with_space(**fields: Any) -> Body:
    return {**QUEUED, "space": {"name": "mine", "parameter": [{"name": "block_size"}], **fields}}


def with_parameter(**fields: Any) -> Body:
    return with_space(parameter=[{"name": "compression_type", **fields}])


# The field that an answer must name, and what to send there.
REFUSED: dict[str, Callable[[str], Body]] = {
    "workload": lambda value: {**QUEUED, "workload": value},
    "flags": lambda value: {**QUEUED, "flags": {"db": value}},
    "space": lambda value: {**QUEUED, "space": value},
    "objective": lambda value: {**QUEUED, "objective": value},
    "strategy": lambda value: {**QUEUED, "strategy": value},
    "baseline": lambda value: {**QUEUED, "baseline": value},
    "memory": lambda value: {**QUEUED, "memory": value},
    "detect": lambda value: {**QUEUED, "detect": value},
    "limits": lambda value: {**QUEUED, "limits": [value]},
    "over": lambda value: {**QUEUED, "over": [value]},
    "start_from": lambda value: {**QUEUED, "start_from": [value]},
    "db_bench": lambda value: {**QUEUED, "db_bench": value},
    "host_kind": lambda value: {**QUEUED, "host_kind": value},
    "space.baseline": lambda value: with_space(baseline=value),
    "space.parameter[1].name": lambda value: with_parameter(name=value),
    "space.parameter[1] (compression_type).choices": lambda value: with_parameter(
        choices=["lz4", value]
    ),
    "space.parameter[1] (compression_type).default": lambda value: with_parameter(default=value),
    "space.parameter[1] (compression_type).special": lambda value: with_parameter(special=[value]),
    "space.parameter[1] (compression_type).sweep": lambda value: with_parameter(sweep=[value]),
    "space.parameter[1] (cache_size).low": lambda value: with_parameter(
        name="cache_size", low=value
    ),
    "space.parameter[1] (cache_size).default": lambda value: with_parameter(
        name="cache_size", default=value
    ),
    "space.parameter (compression_type).active_if": lambda value: with_parameter(
        active_if={value: [True]}
    ),
    "space.parameter (codec)": lambda value: with_parameter(
        name="codec", type="cat", choices=["lz4", value]
    ),
    "space.fixed.compression_type": lambda value: with_space(fixed={"compression_type": value}),
    "space.fixed.cache_size": lambda value: with_space(fixed={"cache_size": value}),
}


@pytest.mark.slow
@pytest.mark.parametrize("field", REFUSED)
def test_what_pretends_to_be_a_flag_is_refused_by_the_fields_name(
    hurried: TestClient, field: str, whole: bool
) -> None:
    """A quarter of the values in each field, others in the next one; with --whole all."""
    job, place = submit(hurried), list(REFUSED).index(field)
    values = hostile("/x") if whole else hostile("/x")[place % 4 :: 4]
    for number, value in enumerate(values):
        body = REFUSED[field](value)
        # A clone's body is read as a job's is: two values show it.
        for path in ("/v1/jobs", f"/v1/jobs/{job}/clone")[: 1 + (number < 2)]:
            named = {each.partition("[0]")[0] for each in errors_of(send(hurried, path, body))}
            assert named == {field}, value
    assert len(hurried.get("/v1/jobs").json()["jobs"]) == 1


def test_a_flag_is_no_name_of_what_a_space_fixes(hurried: TestClient) -> None:
    for value in hostile("/x"):
        answer = send(hurried, "/v1/jobs", with_space(fixed={value: 1}))
        assert errors_of(answer).keys() == {f"space.fixed.{value}"}


def test_a_workload_is_named_and_never_sent(hurried: TestClient) -> None:
    sent = {"name": "load-quick", "benchmarks": ["fillrandom"], "flags": {"wal_dir": "/x"}}
    for workload in (sent, [sent], json.dumps(sent)):
        answer = send(hurried, "/v1/jobs", {**QUEUED, "workload": workload})
        assert errors_of(answer).keys() == {"workload"}
    batch = {"workloads": ["load-quick --db=/x"]}
    schedule = {"name": "n", "cron": "0 2 * * *", "batch": batch}
    (field,) = errors_of(send(hurried, "/v1/schedules", schedule))
    assert "workload" in field


def assembled(database: Engine, job: int, settings: Settings) -> ResolvedJob:
    """What a worker makes of a job."""
    return assemble(
        specification_from_document(JobStore(database).job(job).specification), settings
    )


def command(assembly: ResolvedJob, folder: Path) -> list[str]:
    """The command line of the baseline in a folder, with the folder's path taken out."""
    folder.mkdir()
    configuration = assembly.problem.space.default_configuration()
    argv = assembly.benchmark.prepare(configuration, folder)
    return [argument.replace(str(folder), "FOLDER") for argument in argv]


@pytest.mark.slow
@pytest.mark.db_bench
def test_the_text_of_an_options_file_stays_within_the_file(
    hurried: TestClient, database: Engine, settings: Settings, tmp_path: Path, whole: bool
) -> None:
    """Each value is that of one option, and the next one of another; with --whole of all."""
    target = tmp_path / "planted"
    options = ("max_open_files", "compression", "checksum")
    plain = assembled(
        database, submit(hurried, {**QUEUED, "baseline_options": BASELINE}), settings
    )
    usual = command(plain, tmp_path / "plain")
    assert sum(argument.startswith("--db=") for argument in usual) == 1
    for number, value in enumerate(hostile(str(target))):
        for key in options if whole else (options[number % len(options)],):
            text = "".join(
                f"  {key}={value}\n" if key in line else line
                for line in BASELINE.splitlines(keepends=True)
            )
            body = {**QUEUED, "baseline_options": text, "start_from": [
                {"name": value, "options": text}]}  # fmt: skip
            answer = send(hurried, "/v1/jobs", body)
            if answer.status_code == 422:
                assert set(errors_of(answer)) <= {"baseline_options", "start_from"}, value
                continue
            with suppress(InputError):  # where RocksDB does not take the value
                assembled(database, answer.json()["id"], settings)
            assert not target.exists(), value
            # Left out or not, nothing of it leads anywhere.
            answer = send(hurried, "/v1/jobs", {**body, "drop_unknown": True})
            assembly = assembled(database, answer.json()["id"], settings)
            folder = tmp_path / f"{number}-{key}"
            assert command(assembly, folder) == usual, value
            written = parse_options((folder / "OPTIONS.ini").read_text())
            for name in ("wal_dir", "db_log_dir", "env"):
                assert written.get(DB, name) is None, value
            opens(assembly, folder)
            assert not target.exists(), value


def opens(assembly: ResolvedJob, folder: Path) -> None:
    """Lets the real db_bench open what a trial would open; it may refuse it."""
    argv = [
        str(assembly.installed.program), f"--options_file={folder / 'OPTIONS.ini'}",
        f"--db={folder / 'db'}", "--num=1", "--benchmarks=fillseq",
    ]  # fmt: skip
    ended = subprocess.run(argv, cwd=folder, capture_output=True, timeout=60, check=False)
    assert (folder / "db" / "CURRENT").exists() == (ended.returncode == 0)


@pytest.mark.slow
def test_choices_of_ones_own_go_to_a_benchmark_of_ones_own_as_they_are(
    served: Served, database: Engine, settings: Settings, tmp_path: Path
) -> None:
    """It reads them in a file: none becomes an argument, or a part of one."""
    write_workload(tmp_path)
    limits = ServiceSettings(rate_limit="100000/second", workloads_dir=tmp_path)
    client = served(limits)
    for number, value in enumerate(hostile("/x")):
        codec = {"name": "codec", "type": "cat", "choices": ["lz4", value], "default": value}
        space = {"name": "mine", "parameter": [codec]}
        job = submit(client, {"workload": "instant", "trials": 12, "space": space})
        folder = tmp_path / f"run-{number}"
        argv = command(assembled(database, job, settings), folder)
        assert argv == ["/bin/sh", str(tmp_path / "bench.sh"), "FOLDER/configuration.json"]
        assert json.loads((folder / "configuration.json").read_text()) == {"codec": value}
        job = submit(client, {**EXTERNAL, "space": space})
        answer = send(client, f"/v1/jobs/{job}/suggestions", {"count": 1})
        (suggested,) = answer.json()["suggestions"]
        assert suggested["configuration"] == {"codec": value}


@pytest.mark.db_bench
def test_a_flag_of_a_registered_workload_is_one_argument_whatever_it_holds(
    served: Served, database: Engine, settings: Settings, tmp_path: Path
) -> None:
    values = hostile("/x")
    named = dict(zip(TEXT_FLAGS, values, strict=False))
    assert len(named) == len(values)
    flags = "".join(f"{name} = {json.dumps(value)}\n" for name, value in named.items())
    text = f'name = "odd"\nnum = 100_000\nvalue_size = 1024\n[flags]\n{flags}'
    (tmp_path / "odd.toml").write_text(text)
    client = served(ServiceSettings(workloads_dir=tmp_path))
    usual = command(assembled(database, submit(client), settings), tmp_path / "usual")
    odd = submit(client, {**QUEUED, "workload": "odd"})
    argv = command(assembled(database, odd, settings), tmp_path / "own")
    names = [argument.partition("=")[0] for argument in argv[1:]]
    added = [f"--{name}" for name in named]
    assert sorted(names) == sorted([*(each.partition("=")[0] for each in usual[1:]), *added])
    for name, value in named.items():
        assert f"--{name}={value}" in argv


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"minutes": 5}, "minutes: give `trials` or `minutes`, not both"),
        ({"detect": "5%"}, "detect: needs more than 20 trials, because the noise must be measured "
         "first; give 24 `trials` or more"),
        ({"limits": ["memory <= 1GiB"]}, "limits: memory is a budget, not a limit; give for "
         "example 512MiB as `memory`"),
        ({"space": {"name": "x", "fixed": {"--memory": 1}, "parameter": [{"name": "block_size"}]}},
         "space.fixed.--memory: is not in the catalogue (see the space `all`)"),
        ({"strategy": "lz4 --memory=1"}, "strategy: 'lz4 --memory=1' is not one of "),
    ],
)  # fmt: skip
def test_an_error_advises_no_option_of_the_terminal(
    anyone: TestClient, body: Body, said: str
) -> None:
    detail = send(anyone, "/v1/jobs", {**QUEUED, **body}).json()["detail"]
    assert detail.startswith(said)


def test_an_error_of_an_experiment_names_no_option_either(anyone: TestClient) -> None:
    body = {"kind": "compare", "workload": "load-quick", "a": "default", "b": "job:99"}
    detail = send(anyone, "/v1/jobs", body).json()["detail"]
    assert detail == "b: there is no job 99 in this database"
    body = {"kind": "compare", "workload": "load-quick", "around": "nope"}
    detail = send(anyone, "/v1/jobs", body).json()["detail"]
    assert detail == "around: there is no parameter 'nope'; see the space `all`"
