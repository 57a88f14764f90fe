"""Runs `rocktune` in forked processes: its imports, seconds of them, are paid once.

Reads a JSON document a line and answers each with one. ``{"arguments", "environment", "log"}``
forks a process that runs the command, its output going to the file ``log``, and answers its
number; ``{"wait"}`` waits for a process and answers its exit status as ``subprocess`` writes it.
"""

import json
import os
import signal
import sys

import cli.render.outcome_screen
import cli.render.progress_screen
import cli.tuning.tune
import jobs.execution.run_job
import jobs.report.artifacts
from cli.main import main
from optimizer.run.tuning import load_libraries

assert (
    cli.render.outcome_screen
    and cli.render.progress_screen
    and cli.tuning.tune
    and jobs.report.artifacts
    and jobs.execution.run_job
)
load_libraries()


def child(task: dict) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    descriptor = os.open(task["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.environ.update(task["environment"])
    status = 1
    try:
        status = main(task["arguments"])
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


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
