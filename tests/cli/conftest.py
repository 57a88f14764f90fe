import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# What other rooms' tests use too is beside the rooms' folders and in those of jobs.
sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[1] / "jobs"))

from instant import left_running
from terminal import Desk, Zygote

from cli.main import main


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
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield lambda *arguments: main([str(argument) for argument in arguments])
    for number, handler in handlers.items():
        signal.signal(number, handler)
