"""Fixtures of whoever runs `rocktune`: where the user sits, and ways to run the command."""

import logging
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.main import main
from tests.support.cli.client_scene import Scene, serving
from tests.support.cli.launched import Zygote, zygote_of_this_process
from tests.support.cli.terminal import Desk
from tests.support.jobs.instant import left_running


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A folder of the user's own; nothing that was started there may be left in the end."""
    desk = Desk(tmp_path)
    yield desk
    assert left_running(desk.mark) == []


@pytest.fixture(scope="session")
def zygote() -> Zygote:
    return zygote_of_this_process()


@pytest.fixture
def here(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """The command in this process, from the desk: seconds of imports are saved."""
    for name in [name for name in os.environ if name.startswith("ROCKTUNE_")]:
        monkeypatch.delenv(name)
    for name, value in desk.variables().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(desk.folder)
    root = logging.getLogger()
    logs = root.handlers[:], root.level
    yield lambda *arguments: main([str(argument) for argument in arguments])
    root.handlers[:], root.level = logs


@pytest.fixture
def small_disk() -> list[str]:
    """Runs a command in a namespace where a folder, named behind it, is a disk of a megabyte."""
    if shutil.which("unshare") is None:
        pytest.skip("no unshare(1)")
    for kind in (["--user", "--map-root-user", "--mount"], ["--mount"]):
        probe = ["unshare", *kind, "mount", "-t", "tmpfs", "none", "/mnt"]
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            script = 'mount -t tmpfs -o size=1m none "$0" && exec "$@"'
            return ["unshare", *kind, "sh", "-c", script]
    pytest.skip("may not mount a file system here")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A real service; the jobs of a module's tests come one after another."""
    with serving(tmp_path_factory.mktemp("service")) as scene:
        yield scene
    assert left_running(scene.desk.mark) == []


@pytest.fixture
def client(
    here: Callable[..., int], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Callable:
    """The command in this process; ``url`` is set as ROCKTUNE_URL, other names as they are.

    Whoever runs it is who runs the service, where a test has one.
    """
    if "service" in request.fixturenames:
        token_file = request.getfixturevalue("service").desk.token_file
        monkeypatch.setenv("ROCKTUNE_TOKEN_FILE", str(token_file))

    def run(*arguments: object, url: str | None = None, **variables: str) -> int:
        with monkeypatch.context() as set_for_now:
            for name, value in {**variables, **({"ROCKTUNE_URL": url} if url else {})}.items():
                set_for_now.setenv(name, value)
            return here(*arguments)

    return run
