"""The extra `rocktune[slurm]`: the script that dask-jobqueue makes. Nothing is submitted."""

import importlib.util
import shlex
from pathlib import Path

import pytest

from jobs.cluster.certificates import make_set
from tests.support.cluster.command_lines import DEPLOY, not_taken

pytest.importorskip("dask_jobqueue", reason="the extra rocktune[slurm] is not installed")


def test_a_host_has_a_node_to_itself_and_runs_our_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = DEPLOY / "slurm" / "hosts_by_jobqueue.py"
    specification = importlib.util.spec_from_file_location("hosts_by_jobqueue", source)
    script = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(script)
    make_set(tmp_path / "set")
    asked = ["4", str(tmp_path / "set"), "--cores", "32", "--memory", "128GiB"]
    more = ["--host", "127.0.0.1", "--port", "0", "--partition", "bench", "--show"]
    assert script.main([*asked, *more]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {"#SBATCH --exclusive", "#SBATCH -p bench", "#SBATCH --cpus-per-task=32"} <= set(lines)
    words = shlex.split(lines[-1])
    assert words[:2] == ["env", "ROCKTUNE_BENCH_DIR=/tmp/rocktune"]
    assert Path(words[2]).name == "rocktune"
    assert words[3:5] == ["host", "--scheduler"]
    assert words[5].startswith("tls://127.0.0.1:")
    assert words[6:] == ["--certificates", str(tmp_path / "set"), "--name", "dummy-name"]
    assert not_taken(words[3:]) == []
