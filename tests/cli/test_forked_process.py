"""A process that the tests fork, and one that they execute, find the same around them."""

import json
import os
import random
import signal
import sys
from pathlib import Path

import pytest

from tests.support.cli.launched import ROCKTUNE, Launch, executed, forked
from tests.support.jobs.instant import running_with

# All that a program can be told, or inherit, without being told.
SEEN = """\
import atexit, json, logging, os, signal, sys, threading
signals = {s.name: str(signal.getsignal(s)) for s in signal.Signals}
shown = open("/proc/self/environ").read().rstrip(chr(0)).split(chr(0))
open_files = {name: os.readlink(f"/proc/self/fd/{name}") for name in ("0", "1", "2")}
others = [n for n in os.listdir("/proc/self/fd") if int(n) > 2 and os.path.exists(
    f"/proc/self/fd/{n}")]
others = [os.readlink(f"/proc/self/fd/{n}") for n in others]
mask = os.umask(0o022)
atexit.register(print, "goodbye", flush=True)
print(json.dumps({
    "arguments": sys.argv, "folder": os.getcwd(), "environment": dict(os.environ),
    "shown": sorted(shown), "files": open_files, "mask": mask, "signals": signals,
    "others": [each for each in others if not each.startswith("/proc/")],
    "handlers": len(logging.getLogger().handlers), "level": logging.getLogger().level,
    "threads": threading.active_count(), "name": __name__, "stream": sys.stdout.line_buffering,
}))
"""
WAITS = "import signal; print('up', flush=True); signal.pause()"


def environment(folder: Path) -> dict[str, str]:
    return {
        "LC_ALL": "C.UTF-8",
        "PATH": os.environ["PATH"],
        "ROCKTUNE_BENCH_DIR": str(folder / "bench"),
        "ONE": "é=1",
    }


def seen(launch: Launch, folder: Path) -> dict[str, object]:
    log = folder / "log"
    process = launch([sys.executable, "-c", SEEN, "a", "b c"], environment(folder), folder, log)
    assert process.wait(60) == 0, log.read_text()
    first, last = log.read_text().splitlines()
    assert last == "goodbye"
    log.unlink()
    found: dict[str, object] = json.loads(first)
    return found


def test_both_see_the_same(tmp_path: Path):
    executed_sees = seen(executed, tmp_path)
    forked_sees = seen(forked, tmp_path)
    assert forked_sees == executed_sees


@pytest.mark.parametrize("launch", [executed, forked])
def test_its_mark_is_found_and_a_signal_ends_it(launch: Launch, tmp_path: Path):
    own = environment(tmp_path)
    log = tmp_path / "log"
    process = launch([sys.executable, "-c", WAITS], own, tmp_path, log)
    mark = f"ROCKTUNE_BENCH_DIR={own['ROCKTUNE_BENCH_DIR']}"
    while "up" not in log.read_text():
        assert process.poll() is None
    assert running_with(mark) == [process.pid]
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == -signal.SIGTERM
    assert running_with(mark) == []


@pytest.mark.slow
@pytest.mark.parametrize("launch", [executed, forked])
def test_the_command_ends_with_its_own_status(launch: Launch, tmp_path: Path):
    log = tmp_path / "log"
    process = launch([str(ROCKTUNE), "show", "no"], dict(os.environ), tmp_path, log)
    assert process.wait(60) == 2
    assert log.read_text().startswith("rocktune: ")


def test_two_draw_other_numbers(tmp_path: Path):
    random.seed(1)
    for name in ("one", "two"):
        script = "import random, uuid; print(random.random(), uuid.uuid4())"
        argv = [sys.executable, "-c", script]
        assert forked(argv, environment(tmp_path), tmp_path, tmp_path / name).wait(60) == 0
    one, two = ((tmp_path / name).read_text().split() for name in ("one", "two"))
    assert one[0] != two[0] and one[1] != two[1]
