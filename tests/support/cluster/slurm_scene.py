"""Slurm's programs as stand-ins: `srun` starts its tasks as local processes, each a "node"."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.support.cli.launched import ROCKTUNE
from tests.support.cluster.command_lines import DEPLOY

SCRIPT = DEPLOY / "slurm" / "rocktune.sbatch"
ROOT = DEPLOY.parent
CONTROLLER = Path(__file__).with_name("small_controller.py")
_SRUN = """#!/bin/sh
echo "$@" >"$SCENE/srun"
tasks=1
while [ "${1#--}" != "$1" ]; do
    case $1 in --ntasks=*) tasks=${1#*=} ;; esac
    shift
done
trap 'kill $started; wait; exit 143' TERM
started=''
for node in $(seq "$tasks"); do
    ROCKTUNE_BENCH_DIR=$SCENE/bench-$node ROCKTUNE_LOCK=$SCENE/lock-$node NODE=node-$node "$@" &
    started="$started $!"
done
wait
"""
# Nodes have names, and there is a small command to run; all else is the real rocktune.
_ROCKTUNE = """#!/bin/sh
case $1 in
host) exec "{rocktune}" "$@" --name "$NODE" ;;
measure) shift; exec "{python}" "{controller}" "$@" ;;
*) exec "{rocktune}" "$@" ;;
esac
"""


@dataclass(frozen=True)
class SlurmScene:
    """An allocation of some nodes, all of them here."""

    folder: Path

    @contextmanager
    def start(self, *arguments: str, nodes: int) -> Iterator["subprocess.Popen[str]"]:
        """The script by a shell; at the end all that is left of it is killed."""
        programs = self.folder / "bin"
        programs.mkdir()
        host = _ROCKTUNE.format(python=sys.executable, controller=CONTROLLER, rocktune=ROCKTUNE)
        for name, text in (("srun", _SRUN), ("rocktune", host)):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        script = subprocess.Popen(
            ["sh", str(SCRIPT), *arguments],
            cwd=self.folder,
            env=os.environ
            | {
                "PATH": f"{programs}:{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "ROCKTUNE": str(programs / "rocktune"),
                "SCENE": str(self.folder),
                "SLURM_JOB_ID": "77",
                "SLURM_JOB_NUM_NODES": str(nodes),
                "SLURMD_NODENAME": "localhost",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            yield script
        finally:
            with suppress(ProcessLookupError):
                os.killpg(script.pid, signal.SIGKILL)
            script.communicate()
