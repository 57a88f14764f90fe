"""What is no Python but belongs to a room is installed with it."""

import subprocess
import tomllib
from pathlib import PurePosixPath

from tests.support import ROOT


def test_every_file_of_a_room_is_installed():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    rooms = [each.removesuffix("*") for each in settings["packages"]["find"]["include"]]
    listed = subprocess.run(
        ["git", "ls-files", *rooms], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    files = {path for path in listed if not path.endswith(".py")}
    assert "api/pages/templates/base.html" in files
    packed = {
        path
        for package, patterns in settings["package-data"].items()
        for pattern in patterns
        for path in files
        if PurePosixPath(path).match(f"{package.replace('.', '/')}/{pattern}")
    }
    assert files == packed
