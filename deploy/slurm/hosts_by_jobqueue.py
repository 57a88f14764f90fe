"""A cluster whose bench hosts are Slurm jobs of their own, kept up by dask-jobqueue.

Where nodes come one by one, not as one allocation: each host waits in Slurm's queue by itself, and
one that dies is asked for again. Needs the extra ``slurm`` (docs/how-to/cluster.md); runs where
jobs may be submitted from and the nodes can reach::

    rocktune cluster certificates certificates                   in a folder that all nodes share
    .venv/bin/python deploy/slurm/hosts_by_jobqueue.py 4 certificates --cores 32 --memory 128GiB
    rocktune tune --scheduler tls://login1:8786 --certificates certificates ...

It is stopped with Ctrl-C, which cancels the hosts.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

import dask
from dask_jobqueue.slurm import SLURMCluster, SLURMJob

from jobs.cluster.certificates import security_of
from jobs.cluster.listening import HTTP_ADDRESS, PORT, listening_host
from jobs.cluster.scheduler import SETTINGS, TTL_SECONDS

ROCKTUNE = str(Path(sys.executable).with_name("rocktune"))


class BenchJob(SLURMJob):
    """One node, exclusively, with one bench host."""

    def __init__(
        self, scheduler: str, name: str, *, certificates: Path, bench_dir: Path, **job: Any
    ) -> None:
        super().__init__(scheduler, name, **job)
        command = ["env", f"ROCKTUNE_BENCH_DIR={bench_dir}", ROCKTUNE, "host"]
        command += ["--scheduler", scheduler, "--certificates", str(certificates)]
        # Jobqueue's own line would start a plain Dask worker.
        self._command_template = shlex.join([*command, "--name", str(name)])


class BenchCluster(SLURMCluster):
    """A scheduler here, and bench hosts by Slurm."""

    job_cls = BenchJob


def cluster(asked: argparse.Namespace) -> BenchCluster:
    """The cluster that was asked for; it has no hosts yet."""
    return BenchCluster(
        cores=asked.cores,
        memory=asked.memory,
        processes=1,
        job_name="rocktune-host",
        walltime=asked.time,
        queue=asked.partition,
        job_extra_directives=["--exclusive", *asked.directive],
        certificates=asked.certificates.resolve(),
        bench_dir=asked.bench_dir,
        security=security_of(asked.certificates),
        protocol="tls",
        scheduler_options={
            "host": listening_host(asked.host, encrypted=True),
            "port": asked.port,
            "protocol": "tls",
            "dashboard": False,
            "dashboard_address": HTTP_ADDRESS,
            "worker_ttl": TTL_SECONDS,
        },
    )


def arguments(given: list[str]) -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("hosts", type=int, help="how many")
    parser.add_argument("certificates", type=Path, help="a folder that all nodes share")
    parser.add_argument("--cores", type=int, required=True, help="processors of a node")
    parser.add_argument("--memory", required=True, help="of a node, as 128GiB")
    parser.add_argument("--time", default="12:00:00", help="how long a host may run")
    parser.add_argument("--partition")
    parser.add_argument("--bench-dir", type=Path, default=Path("/tmp/rocktune"), help="its disk")
    parser.add_argument("--directive", action="append", default=[], help="further, for sbatch")
    parser.add_argument("--host", default="0.0.0.0", help="where the scheduler listens")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--show", action="store_true", help="show a host's script, ask for none")
    return parser.parse_args(given)


def main(given: list[str]) -> int:
    """Runs the cluster until it is stopped."""
    asked = arguments(given)
    with dask.config.set(SETTINGS), cluster(asked) as running:
        if asked.show:
            sys.stdout.write(running.job_script())
            return 0
        running.scale(jobs=asked.hosts)
        sys.stdout.write(f"{running.scheduler_address}\n")
        sys.stdout.flush()
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
    return 0


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    sys.exit(main(sys.argv[1:]))
