"""The wheel in an empty environment is a whole Rocktune: nothing of the clone is needed."""

import os
import shutil
import subprocess
import sys
import sysconfig
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import ROOT

pytestmark = pytest.mark.slow
_LOAD = """\
name = "small"
benchmarks = ["fillrandom"]
num = 17_000
key_size = 16
value_size = 1024
settle = "wait"
scale = 128
timeout_seconds = 60
"""


@dataclass(frozen=True)
class Installed:
    """An environment that holds what was built, and the folder in which its commands run."""

    program: Path
    folder: Path

    def variables(self) -> dict[str, str]:
        """Nothing of the clone, and nothing of the user's."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "ROCKTUNE_BENCH_DIR": str(self.folder / "bench"),
            "ROCKTUNE_LOCK": str(self.folder / "lock"),
        }

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.program), *arguments], cwd=self.folder, env=self.variables(),
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip


def uv() -> str:
    asked = subprocess.run(["scripts/uv.sh"], cwd=ROOT, capture_output=True, text=True, check=True)
    return str(ROOT / asked.stdout.strip())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the sdist, built of what is committed or about to be."""
    folder = tmp_path_factory.mktemp("built")
    source = folder / "source"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True,
    ).stdout  # fmt: skip
    source.mkdir()
    packed = subprocess.run(
        ["tar", "--create", "--null", "--files-from=-", "--ignore-failed-read"],
        cwd=ROOT, input=listed, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
    ).stdout  # fmt: skip
    subprocess.run(["tar", "--extract"], cwd=source, input=packed, check=True)
    locked = ["--build-constraints", str(ROOT / "requirements" / "setup.txt")]
    subprocess.run(
        [uv(), "build", "--quiet", "--python", sys.executable, "--out-dir", str(folder),
         "--require-hashes", *locked, str(source)],
        check=True,
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("installed")
    environment = folder / "environment"
    (wheel,) = built.glob("*.whl")
    program, python = uv(), environment / "bin" / "python"
    subprocess.run(
        [program, "venv", "--quiet", "--python", sys.executable, str(environment)], check=True
    )
    into = [program, "pip", "install", "--quiet", "--python", str(python)]
    locked = ["--require-hashes", "--requirement", str(ROOT / "requirements" / "runtime.txt")]
    subprocess.run([*into, *locked], check=True)
    subprocess.run([*into, "--no-deps", str(wheel)], check=True)
    share_compiled(
        Path(sysconfig.get_path("purelib")), next(environment.glob("lib/*/site-packages"))
    )
    return Installed(environment / "bin" / "rocktune", folder)


def share_compiled(ours: Path, theirs: Path) -> None:
    """Compiling libraries takes longer than all else here; Python compiles what differs anew."""
    if ours.stat().st_dev == theirs.stat().st_dev:
        for cache in ours.rglob("__pycache__"):
            into = theirs / cache.relative_to(ours)
            if into.parent.is_dir() and not into.exists():
                shutil.copytree(cache, into, copy_function=os.link)


def test_wheel_and_sdist_hold_the_same_rooms(built: Path) -> None:
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    names = set(zipfile.ZipFile(wheel).namelist())
    packed = subprocess.run(
        ["tar", "--list", "--gzip", "--file", str(sdist)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    outer = sdist.name.removesuffix(".tar.gz") + "/"
    rooms = {name for name in names if ".dist-info/" not in name}
    assert rooms <= {name.removeprefix(outer) for name in packed}
    assert {"cli/main.py", "cli/py.typed", "api/pages/templates/base.html"} <= rooms
    assert {name.split("/")[0] for name in rooms} == {
        "api", "cli", "db", "jobs", "models", "optimizer", "sampler",
    }  # fmt: skip


def test_it_says_its_version_and_prints_its_licence(installed: Installed) -> None:
    assert installed.run("--version").stdout.startswith("rocktune ")
    said = installed.run("--license").stdout
    assert "Apache License" in said and "Plotly" in said and "MIT" in said


def test_it_makes_a_database_and_tunes(installed: Installed) -> None:
    upgraded = installed.run("db", "upgrade", "--db", "made.db")
    assert (upgraded.returncode, upgraded.stderr) == (0, "")
    assert (installed.folder / "made.db").exists()
    (installed.folder / "small.toml").write_text(_LOAD)
    tuned = installed.run(
        "tune",
        "--workload",
        "small.toml",
        "--trials",
        "12",
        "--no-price",
        "--db",
        "made.db",
        "--out",
        "found",
    )
    assert tuned.returncode in (0, 3), tuned.stderr[-2000:]
    assert (installed.folder / "found" / "report.html").stat().st_size > 1_000_000


def test_it_serves(installed: Installed) -> None:
    with serving(installed) as url:
        with urllib.request.urlopen(f"{url}/readyz", timeout=30) as answer:
            assert answer.status == 200
        with urllib.request.urlopen(f"{url}/login", timeout=30) as answer:
            assert b"<h1>" in answer.read()


@contextmanager
def serving(installed: Installed) -> Iterator[str]:
    with subprocess.Popen(
        [str(installed.program), "serve", "--port", "0", "--db", "served.db"],
        cwd=installed.folder, env=installed.variables(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            yield process.stdout.readline().split()[2].split("/login")[0]
        finally:
            process.terminate()
            process.wait(30)
