import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

# What other rooms' tests use too is beside the rooms' folders and in theirs.
sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[1] / "jobs"))
sys.path.append(str(Path(__file__).parents[1] / "cli"))

import pytest
from instant import left_running
from night_scene import Clock
from terminal import Desk, Zygote
from worker_scene import scene  # noqa: F401

from cli.main import main
from jobs.schedule import schedules


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time by which schedules are due, as the test sets it."""
    clock = Clock()
    monkeypatch.setattr(schedules, "present", lambda _: clock.now)
    return clock


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    assert left_running(desk.mark) == []


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    zygote = Zygote()
    yield zygote
    zygote.close()


@pytest.fixture
def here(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """The command in this process, from the desk: seconds of imports are saved."""
    for name in [name for name in os.environ if name.startswith("ROCKTUNE_")]:
        monkeypatch.delenv(name)
    for name, value in desk.variables().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(desk.folder)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    before = signal.getsignal(signal.SIGTERM)
    yield lambda *arguments: main([str(argument) for argument in arguments])
    signal.signal(signal.SIGTERM, before)
    root.handlers[:], root.level = handlers, level
