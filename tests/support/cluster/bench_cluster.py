"""A cluster of bench hosts on this machine, by the real commands, and every way to break it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support import inherited, unused_port
from tests.support.cli.launched import ROCKTUNE, Launch, forked
from tests.support.jobs.service_desk import ServiceProcess, wait_until
from tests.support.sampler.codec_space import SPACE, write_command

# Each run says when it begins and ends, on which host, and by which process. While a file `hold`
# is there it goes on, so that a test can break things in its middle.
SCRIPT = """\
#!/bin/sh
read -r given < "$1"
echo "begins $BENCH_HOST $$ $ROCKTUNE_TRIAL" >> {folder}/record
sleep {seconds}
while test -e {folder}/hold; do sleep 0.05; done
case "$given" in *'"codec": "fast"'*) waf=1 ;; *) waf=2 ;; esac
n=$(( ($$ * 1103515245 + 12345) / 65536 % 90 + 10 ))
echo "ends $BENCH_HOST $$ $ROCKTUNE_TRIAL" >> {folder}/record
printf '{{"waf": %d.0%d, "sa": 1.2, "time": {seconds}1%d, "rate": 10%d}}\\n' $waf $n $n $n
"""
# The shortest that users may ask for is ten seconds; a test need not wait so long.
_SCHEDULER = """\
from jobs.cluster.certificates import CertificateRole, security_of
from jobs.cluster.scheduler import serve_scheduler
from jobs.queue.service_settings import configure_logs
from pathlib import Path
import sys, structlog
configure_logs("info")
log = structlog.get_logger("scheduler")
host, port, ttl, *certificates = sys.argv[1:]
security = security_of(Path(certificates[0]), CertificateRole.SCHEDULER) if certificates else None
serve_scheduler(
    host=host, port=int(port), security=security, ttl_seconds=float(ttl),
    listening=lambda url: log.info("listening", url=url),
)
"""


@dataclass(frozen=True)
class Run:
    """One run of the benchmark, as it told of itself."""

    host: str
    pid: int
    token: str


@dataclass
class BenchCluster:
    """A scheduler and hosts, each a process with a folder of its own.

    Attributes:
        listen: The scheduler's address.
        certificates: Their folder; None: without, on loopback alone.
        inside: What a host's command line begins with, by its name.
        launch: Starts a command.
    """

    folder: Path
    ttl: float = 3.0
    seconds: float = 0.1
    listen: str = "127.0.0.1"
    certificates: Path | None = None
    inside: Callable[[str], list[str]] = lambda _: []
    launch: Launch = forked
    port: int = 0
    scheduler: ServiceProcess | None = None
    hosts: dict[str, ServiceProcess] = field(default_factory=dict)
    started: int = 0
    processes: list[ServiceProcess] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"{self.listen}:{self.port}"

    @property
    def joining(self) -> list[str]:
        """How a command is told of the scheduler."""
        keys = ["--certificates", str(self.certificates)] if self.certificates else []
        return ["--scheduler", self.address, *keys]

    @property
    def hold(self) -> Path:
        """While this file is there runs go on."""
        return self.folder / "hold"

    def start_scheduler(self) -> None:
        """A scheduler at the same address as any before."""
        if not self.port:
            self.port = unused_port(self.listen)
        self.scheduler = self._start("scheduler", self.scheduling(), {})
        self.scheduler.await_said("listening")

    def scheduling(self) -> list[str]:
        """The scheduler's command line."""
        keys = [str(self.certificates)] if self.certificates else []
        own = [self.listen, str(self.port), str(self.ttl), *keys]
        return [sys.executable, "-c", _SCHEDULER, *own]

    def start_host(self, name: str, *, kind: str = "bench", **variables: str) -> ServiceProcess:
        """A host; it need not have joined yet."""
        command = [*self.inside(name), str(ROCKTUNE), "host", *self.joining, "--name", name]
        own = {"BENCH_HOST": name} | self.variables(name) | variables
        self.hosts[name] = self._start(name, [*command, "--kind", kind], own)
        return self.hosts[name]

    def await_hosts(self, *names: str) -> None:
        """Waits until these have joined."""
        for name in names or tuple(self.hosts):
            self.hosts[name].await_said("ready")

    def variables(self, name: str) -> dict[str, str]:
        """A bench and a lock of its own."""
        own = self.folder / name
        return {
            "ROCKTUNE_BENCH_DIR": str(own / "bench"),
            "ROCKTUNE_LOCK": str(own / "lock"),
            "ROCKTUNE_FREE_BYTES": str(2**20),
        }

    def tune(self, db: str, *, trials: int, resume: bool = False, **more: str) -> ServiceProcess:
        """`rocktune tune` over the cluster; its files go to ``out``."""
        options = [f"--{name.replace('_', '-')}={value}" for name, value in more.items()]
        command = [
            str(ROCKTUNE), "tune", "--workload", str(self.workload()), "--space",
            str(self.space()), "--objective", "waf", "--trials", str(trials), "--db", db,
            *self.joining, "--out", str(self.folder / "out"),
            *options, *(["--resume"] if resume else []),
        ]  # fmt: skip
        return self._start("tune", command, {})

    def worker(self, db: str) -> ServiceProcess:
        """`rocktune worker` over the cluster."""
        command = [str(ROCKTUNE), "worker", "--migrate", "--db", db]
        return self._start("worker", [*command, *self.joining], {})

    def workload(self) -> Path:
        """The workload's file; the same text for the same benchmark."""
        script = SCRIPT.format(folder=self.folder, seconds=self.seconds)
        return write_command(self.folder, script, "held", timeout=120)

    def space(self) -> Path:
        path = self.folder / "space.toml"
        path.write_text(SPACE)
        return path

    def runs(self, word: str = "begins") -> list[Run]:
        """The runs that have begun, or ended."""
        record = self.folder / "record"
        lines = record.read_text().splitlines() if record.exists() else []
        told = [line.split() for line in lines]
        return [Run(t[1], int(t[2]), t[3]) for t in told if len(t) == 4 and t[0] == word]

    def await_runs(self, count: int, word: str = "begins") -> list[Run]:
        """Waits until so many runs have begun, or ended."""
        wait_until(lambda: len(self.runs(word)) >= count, seconds=90, what=f"{count} {word}")
        return self.runs(word)

    def alive(self) -> list[Run]:
        """The runs that have begun and whose process is there: looked up by its own mark."""
        return [run for run in self.runs() if self._is(run)]

    def begin_anew(self, *names: str) -> None:
        """For another test: these hosts alone, all joined, without a job and without a record."""
        if self.scheduler is None or self.scheduler.process.poll() is not None:
            self.start_scheduler()
        for name in self.hosts.keys() - set(names):
            self.hosts.pop(name).kill()
        for name in names:
            if self.hosts[name].process.poll() is not None:
                self.start_host(name)
        wait_until(lambda: self.joined() == len(names), seconds=90, what=f"{names} have joined")
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        for path in (self.hold, self.folder / "record", *self.folder.glob("jobs.db*")):
            path.unlink(missing_ok=True)

    def end_controllers(self) -> None:
        """Ends whoever runs jobs, and what they have left to the hosts."""
        for running in self.processes:
            if running is not self.scheduler and running not in self.hosts.values():
                running.kill()
        self.hold.unlink(missing_ok=True)

    def joined(self) -> int:
        """How many hosts the scheduler has."""
        assert self.scheduler is not None
        said = [each.get("event") for each in self.scheduler.events()]
        return said.count("host joined") - said.count("host left")

    def close(self) -> None:
        """Ends every process, also those that are stopped."""
        for running in reversed(self.processes):
            if running.process.poll() is None:
                running.process.send_signal(signal.SIGCONT)
            running.kill()
        for run in self.alive():
            os.kill(run.pid, signal.SIGKILL)

    def _is(self, run: Run) -> bool:
        try:
            status = Path(f"/proc/{run.pid}/stat").read_text().rpartition(")")[2].split()[0]
            environment = Path(f"/proc/{run.pid}/environ").read_bytes()
        except OSError:
            return False
        return status != "Z" and f"ROCKTUNE_TRIAL={run.token}".encode() in environment

    def _start(
        self, name: str, command: list[str], variables: Mapping[str, str]
    ) -> ServiceProcess:
        self.started += 1
        log = self.folder / f"log-{self.started:03}-{name}"
        own = inherited() | dict(variables)
        running = ServiceProcess(self.launch(command, own, self.folder, log), log)
        self.processes.append(running)
        return running


@contextmanager
def bench_cluster(
    folder: Path,
    *names: str,
    seconds: float = 0.02,
    ttl: float = 3.0,
    kind: type[BenchCluster] = BenchCluster,
    launch: Launch = forked,
) -> Iterator[BenchCluster]:
    """A scheduler with these hosts, all joined; nothing of it is left behind."""
    cluster = kind(folder, ttl=ttl, seconds=seconds, launch=launch)
    try:
        cluster.start_scheduler()
        for name in names:
            cluster.start_host(name)
        cluster.await_hosts(*names)
        yield cluster
    finally:
        cluster.close()


def result_of(cluster: BenchCluster) -> dict[str, object]:
    """What the job wrote."""
    found: dict[str, object] = json.loads((cluster.folder / "out" / "result.json").read_text())
    return found
