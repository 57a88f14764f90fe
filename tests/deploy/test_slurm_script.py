"""The Slurm script, run by a shell with stand-ins for Slurm; there is no Slurm here."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.support.cluster.command_lines import not_taken
from tests.support.cluster.slurm_scene import SCRIPT, SlurmScene

pytestmark = pytest.mark.slow


@pytest.fixture
def scene(tmp_path: Path) -> SlurmScene:
    return SlurmScene(tmp_path)


def left_over(scene: SlurmScene) -> list[str]:
    """Processes that the script started and that still run."""
    mark, found = f"SCENE={scene.folder}", []
    for process in psutil.process_iter():
        try:
            variables = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
            if mark.encode() in variables and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
        except (OSError, psutil.NoSuchProcess):
            continue
    return found


def test_it_is_posix_shell() -> None:
    assert subprocess.run(["sh", "-n", str(SCRIPT)]).returncode == 0
    if shutil.which("shellcheck"):
        assert subprocess.run(["shellcheck", str(SCRIPT)]).returncode == 0


def test_nodes_are_its_own_with_one_task_each() -> None:
    asked = re.findall(r"^#SBATCH (\S+)$", SCRIPT.read_text(), re.MULTILINE)
    assert {"--exclusive", "--ntasks-per-node=1"} <= set(asked)
    assert any(re.fullmatch(r"--signal=B:TERM@\d+", each) for each in asked)


def test_what_it_starts_are_commands_of_ours() -> None:
    text = SCRIPT.read_text().replace("\\\n", " ")
    started = re.findall(r'^(?:srun .*)?"\$rocktune" ([a-z][^>&\n]*)', text, re.MULTILINE)
    started += re.findall(r'srun .*"\$rocktune" ([a-z][^>&\n]*)', text)
    assert {line.split()[0] for line in started} == {"cluster", "host"}
    for line in started:
        assert not_taken(line.split()) == []


def test_one_node_is_not_enough(scene: SlurmScene) -> None:
    with scene.start("measure", "1", nodes=1) as script:
        _, told = script.communicate(timeout=60)
    assert script.returncode == 2
    assert told.startswith("rocktune: --nodes: ")
    assert told.count("\n") == 1


def test_a_command_runs_on_all_other_nodes_and_nothing_is_left(scene: SlurmScene) -> None:
    with scene.start("measure", "2", nodes=3) as script:
        said, told = script.communicate(timeout=240)
        assert left_over(scene) == []
    assert script.returncode == 3, told
    assert "measured on 2 hosts" in said
    options = (scene.folder / "srun").read_text().split()
    assert {"--nodes=2", "--ntasks=2", "--ntasks-per-node=1"} <= set(options)
    assert "--exclude=localhost" in options
    assert list(scene.folder.glob(".rocktune-*")) == []


def test_when_the_time_is_over_the_command_ends_as_it_does_on_a_signal(scene: SlurmScene) -> None:
    with scene.start("measure", "1", "--wait", nodes=2) as script:
        assert "measured on 1 hosts\n" in iter(script.stdout.readline, "")
        os.kill(script.pid, signal.SIGTERM)
        _, told = script.communicate(timeout=240)
        assert left_over(scene) == []
    assert script.returncode == 130, told
    assert list(scene.folder.glob(".rocktune-*")) == []
