"""Every command that README, guides, pages and `--help` show is run.

What asks about stored jobs runs to its end, what measures to the start of its first run, what
serves or follows to the place where it would wait. Job, nights and database are real ones.
"""

import re
import shlex
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from socket import socket
from typing import NoReturn

import pytest
import uvicorn

import jobs.cluster.host
import jobs.cluster.scheduler
from api.schemas.job_schemas import JobProgress
from cli.main import main
from cli.operations import schedule
from cli.options import exits
from cli.options.exits import Exit
from cli.render.screen import JobView
from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from db.jobs.job_store import JobStore
from db.schema.job_row import ENDED
from jobs.archive import restore_archive
from jobs.specification.named_files import specify
from jobs.worker import Worker
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from tests.support import DATA, ROOT
from tests.support.api.finished_job import run
from tests.support.api.watched_nights import kept_nights, nights_up_to_the_finding
from tests.support.cli.launched import forked
from tests.support.documented import COMMANDS
from tests.support.jobs.instant import write_space, write_workload
from tests.support.jobs.service_desk import ServiceDesk
from tests.support.sampler.real_databases import fill
from tests.support.sampler.traces import MIXED

pytestmark = [pytest.mark.db_bench, pytest.mark.slow]

# What takes more than this machine has tests of its own: a cluster (tests/jobs/cluster), the
# tuner's binding (tests/jobs/autotune), the driver in Java (tests/jobs/experiments/comparison), a
# service whose worker tells its builds (tests/builds), a job of one column family
# (tests/cli/tuning).
ELSEWHERE = re.compile(
    r" (tune|worker) .*--scheduler|cluster status|autotune|java:|-bench java|11\.8\.1 --submit"
    r"|pick .*--column-family"
)
PLACEHOLDER = re.compile(r"A|B|OLD|NEW|DIR|PATH|NAME|METRIC|FORM|\.\.\.|read\|submit\|admin")
ALONE = ("bench", "doctor", "hosts", "jobs", "objectives", "serve", "space", "starts", "tune",
         "worker", "workloads", "db upgrade", "schedule list", "token list", "token show",
         "webhooks list", "cluster scheduler")  # fmt: skip
GROUPS = ("cluster", "db", "schedule", "token", "webhooks")
OPTIONS = """[Version]
  rocksdb_version=7.8.3
  options_file_version=1.1
[DBOptions]
  max_background_jobs=4
[CFOptions "default"]
[CFOptions "users"]
  num_levels=7
"""
MINE = {
    "--objective": 'name = "mine"\n[[metric]]\nname = "waf"\ndirection = "min"\n',
    "space": 'name = "mine"\n[[parameter]]\nname = "block_size"\nlow = 4096\nhigh = 65536\n',
    "--workload": 'name = "mine"\nbenchmarks = ["fillrandom"]\nnum = 100_000\n',
}
BATCH = 'name = "nightly"\nworkloads = ["load-quick"]\nspaces = ["default"]\ntrials = 96\n'
_SHOW = JobView.show
BUILDS = ("11.8.1", "10.2", "7.8")
MEASURING = {"tune", "compare", "upgrade-check", "bench", "batch", "check", "doctor"}
# What the reader has in place of what a page names.
PLACES = (
    (r"/var/lib/|/etc/my/|/srv/bench/|/data/|/tmp/|/run/secrets/|/etc/rocktune/", ""),
    (r"/opt/10.2/db_bench", "10.2"),
    (r"postgresql://\S+", "rocktune.db"),
    (r"sched\.example", "127.0.0.1"),
    (r"^rocktune serve", "rocktune serve --port 0"),
    (r"\b(ID|JOB|12)\b", "1"),
    (r"contributions 1", "contributions 2"),  # of a greedy job
    (r"bench-1\b", "vm"),
    (r"((like|profile) .*--column-family) users", r"\1 default"),
)


def is_whole(command: str) -> bool:
    """Whether it is more than a name, as `rocktune compare A B` and `rocktune tune --like` are."""
    words = [each for each in command.split()[1:] if not each.startswith("--")]
    if command.endswith(("--like", "--kind nvme")) or any(map(PLACEHOLDER.fullmatch, words)):
        return False
    return len(words) > 1 + (words[:1] in [[each] for each in GROUPS]) or " ".join(words) in ALONE


def typed(command: str, url: str) -> list[str]:
    """What the reader types, without what the shell does with it."""
    line = re.split(r" {3,}", re.sub(r"\n *", " ", command))[0]
    for shown, own in (*PLACES, ("http://bench:8080", url)):
        line = re.sub(shown, own, line)
    return list(takewhile(lambda word: word not in ("||", "&", ">"), shlex.split(line)[1:]))


WHOLE = [each for each in COMMANDS if is_whole(each) and not ELSEWHERE.search(each)]
RUN = {tuple(typed(each, "")): each for each in WHOLE}  # job 12 is job 1: once is enough


def stock(folder: Path) -> None:
    """A database with jobs that are done: the README's, a greedy one, and those of nights."""
    engine = make_engine(folder / "rocktune.db")
    upgrade_tables(engine)
    settings = Settings(bench_dir=folder / "bench", lock=folder / "lock", free_bytes=0)
    restore_archive(engine, ROOT / "docs/results/first_job.jsonl.gz")
    greedy = specify(
        workload=str(write_workload(folder)), space=str(write_space(folder)), objective="waf",
        strategy="greedy", trials=24,
    )  # fmt: skip
    JobStore(engine).create_job(greedy.document(), greedy.digest())
    for job_id in (1, 2):
        run(engine, job_id, settings)
    kept_nights(engine, nights_up_to_the_finding())
    engine.dispose()
    for name in ("service", "nights", "other"):
        shutil.copy(folder / "rocktune.db", folder / f"{name}.db")


def write_files(folder: Path) -> None:
    """The files of the reader's own that the pages name."""
    fill(folder / "mydb", "fillrandom", num=60_000, value_size=150, stats_dump_period_sec=1)
    shutil.copy(folder / "mydb" / "LOG", folder)
    shutil.copy(DATA / "db_bench_outputs/sine_wave_intervals.txt", folder / "db_bench.log")
    shutil.copy(MIXED, folder / "trace.bin")
    shutil.copy(ROOT / "docs/results/first_job.jsonl.gz", folder / "job-1.jsonl.gz")
    for name in ("OPTIONS", "OPTIONS.ini", "OPTIONS.old", "OPTIONS.new", "mydb.OPTIONS",
                 "first/OPTIONS.ini", "guided/OPTIONS.rocksdb.ini"):  # fmt: skip
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(OPTIONS)
    for name in ("mydb", "my-db", "replayed", "tiny"):
        (folder / f"{name}.toml").write_text(MINE["--workload"].replace("mine", name))
    (folder / "nightly.toml").write_text(BATCH)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceDesk]:
    """All that the pages name, and a service that has the same jobs."""
    folder = tmp_path_factory.mktemp("desk")
    stock(folder)
    write_files(folder)
    builds = ",".join(f"{name}={shutil.which('db_bench')}" for name in BUILDS)
    desk = ServiceDesk(
        folder, str(folder / "service.db"), {"ROCKTUNE_BUILDS": builds}, launch=forked
    )
    with desk.running("serve", "--no-worker", "--port=0") as process:
        yield replace(desk, environment={**desk.environment, "ROCKTUNE_URL": process.address()})
        assert process.stop() == 0


@dataclass
class Begun:
    """What has begun, in the order in which it did."""

    names: list[str] = field(default_factory=list)

    def measuring(self, *_: object, **__: object) -> NoReturn:
        self.names.append("a run")
        raise KeyboardInterrupt

    def following(self, view: JobView, job: JobProgress) -> None:
        """As the reader who has seen that the job waits for a worker, and presses Ctrl-C."""
        _SHOW(view, job)
        if job.state not in ENDED:
            self.names.append("a wait")
            raise KeyboardInterrupt

    def waiting(self, *_: object, sockets: Sequence[socket] = (), **__: object) -> None:
        self.names.append("a server")
        for each in sockets:
            each.close()


@pytest.fixture
def begun(
    desk: ServiceDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> Begun:
    """What begins; the reader sits in a copy of the desk's folder, with what the command names."""
    begun = Begun()
    monkeypatch.setattr(LocalRunner, "start", begun.measuring)
    monkeypatch.setattr(JobView, "show", lambda view, job: begun.following(view, job))
    for place, name in (
        (uvicorn.Server, "run"), (Worker, "run"),
        (jobs.cluster.host, "serve_host"), (jobs.cluster.scheduler, "serve_scheduler"),
    ):  # fmt: skip
        monkeypatch.setattr(place, name, begun.waiting)
    monkeypatch.setattr(exits, "terminate_like_interrupt", lambda: None)
    monkeypatch.setattr(schedule, "_PATIENCE_SECONDS", 0)  # nobody sends here
    for name, value in (desk.variables() | {"ROCKTUNE_DB": "rocktune.db"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    named = f"rocktune.db {command}" + " service.db" * ("token" in command)
    for each in desk.folder.iterdir():
        if each.is_dir():
            (tmp_path / each.name).symlink_to(each)
        elif each.suffix != ".db" or each.name in named:
            shutil.copy(each, tmp_path)
    return begun


def made_ready(line: list[str]) -> None:
    """What a page does before the command, or has in a file of that name."""
    command, *more = line
    if "mine.toml" in line:
        named = line[line.index("mine.toml") - 1].removeprefix("--space") or "space"
        Path("mine.toml").write_text(MINE[named])
    if command == "profile":
        Path("mydb.toml").unlink()  # it writes it, and the file beside it
        Path("mydb.OPTIONS").unlink()
    if {"--renew", "--certificates"} & {*line}:
        folders = [each for each in line if each.endswith("certificates") and each[0] != "-"]
        assert main(["cluster", "certificates", folders[-1]]) == 0
    if line[:2] == ["db", "restore"]:
        Path("other.db").unlink(missing_ok=True)  # into a new one
    if command == "schedule" and more[0] != "add":
        assert main(["schedule", "add", "nightly.toml", "--cron", "30 2 * * *"]) == 0
    if command == "webhooks" and more[0] != "add":
        assert main(["webhooks", "add", "https://chat.example.com/hooks/abc"]) == 0
    if command == "token" and more[0] != "make":
        for db in ("rocktune.db", "service.db"):
            assert main(["token", "make", "ci", "--db", db]) == 0
    if command in ("cancel", "resume"):
        state = "queued" if command == "cancel" else "cancelled"
        with closing(sqlite3.connect("rocktune.db")) as connection, connection:
            connection.execute("UPDATE job SET state = ? WHERE id = 1", [state])


def expected(line: list[str]) -> tuple[set[int], list[str]]:
    """The statuses that it may end with, and what has begun by then."""
    command = line[0]
    if command in ("serve", "worker", "host") or "scheduler" in line:
        with_worker = command == "serve" and "--no-worker" not in line
        return {Exit.DONE}, ["a server"] * (1 + with_worker)
    if "--watch" in line:
        return {Exit.INTERRUPTED}, ["a wait"]
    if "--quick" in line:  # of this machine
        return {Exit.DONE, Exit.ANSWER_IS_NO}, []
    runs = command in MEASURING or {"--runs", "--check"} & {*line}
    done = ("--resume" in line and "90" in line) or line[-2:] == ["--pairs", "0"]
    if runs and not done and "--submit" not in line:
        return {Exit.INTERRUPTED}, ["a run"]
    if command == "nights" or line[:2] == ["webhooks", "test"] or "--minimal" in line:
        return {Exit.ANSWER_IS_NO}, []
    return {Exit.DONE}, []


@pytest.mark.parametrize("command", RUN.values())
def test_it_runs(
    command: str, desk: ServiceDesk, begun: Begun, monkeypatch: pytest.MonkeyPatch, capsys
):
    line = typed(command, desk.environment["ROCKTUNE_URL"])
    if not {"submit", "--submit"} & {*line}:
        monkeypatch.delenv("ROCKTUNE_URL")
    made_ready(line)
    status = main(line)
    said = capsys.readouterr()
    statuses, begins = expected(line)
    assert (status in statuses, begun.names) == (True, begins), (status, said.err)


def test_there_are_some():
    assert len(RUN) > 220
