"""Runs `rocktune` in forked processes: its imports, seconds of a processor, are paid once.

A zygote, in the word of Chromium and Android, is a process that has loaded all that others need
and does nothing but fork them.

Reads a JSON document a line and answers each with one:

- ``{"arguments", "environment", "folder", "log"}`` forks a process that runs the command in the
  folder and with this environment alone, and answers its number. Its output is added to the file
  ``log``; that of errors to ``errors``, where this is named. With ``"script"``, a text of Python,
  it does what ``python -c`` does.
- ``{"wait"}`` waits for a process and answers its exit status as ``subprocess`` writes it.
"""

import ctypes
import gc
import json
import os
import signal
import sys
from importlib import import_module
from pathlib import Path

import api.app
import cli.render.outcome_screen
import cli.render.screen
import jobs.execution.run_job
import jobs.report.artifacts
import jobs.worker
from cli.main import COMMANDS, main
from optimizer.strategies.registry import load_libraries
from sampler.bench import runner
from tests.support.sampler.no_neighbours import moment

assert (
    api.app
    and cli.render.outcome_screen
    and cli.render.screen
    and jobs.report.artifacts
    and jobs.execution.run_job
    and jobs.worker
)
for command in COMMANDS.values():
    import_module(command.module)
load_libraries()
runner.read_moment = moment
gc.collect()
gc.freeze()  # what all share is not copied by a collection of garbage


def child(task: dict) -> None:
    """Ends as the real command does: threads are waited for, exit handlers run."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    redirect(0, os.devnull, os.O_RDONLY)
    for number, path in ((1, task["log"]), (2, task.get("errors", task["log"]))):
        redirect(number, path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.chdir(task["folder"])
    os.environ.clear()
    os.environ.update(task["environment"])
    show_environment()
    if "script" in task:
        sys.argv = ["-c", *task["arguments"]]
        exec(task["script"], {"__name__": "__main__"})
        sys.exit()
    sys.argv = ["rocktune", *task["arguments"]]
    sys.exit(main(task["arguments"]))


def redirect(number: int, path: str, flags: int) -> None:
    opened = os.open(path, flags, 0o666)
    os.dup2(opened, number)
    os.close(opened)


def show_environment() -> None:
    """Writes the environment to where ``/proc/PID/environ`` is read from.

    The kernel shows the bytes that the process was executed with; a process is told to be of a
    test by what stands there. Whoever starts this program leaves room (``ROOM``).
    """
    after_name = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(after_name[47]), int(after_name[48])  # env_start, env_end in proc(5)
    text = b"".join(name + b"=" + it + b"\0" for name, it in os.environb.items())
    assert len(text) <= end - start
    ctypes.memmove(start, text.ljust(end - start, b"\0"), end - start)


signal.signal(signal.SIGINT, signal.SIG_IGN)
for line in sys.stdin:
    task = json.loads(line)
    if "wait" in task:
        _, raw = os.waitpid(task["wait"], 0)
        answer = os.waitstatus_to_exitcode(raw)
    else:
        answer = os.fork()
        if answer == 0:
            child(task)
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
