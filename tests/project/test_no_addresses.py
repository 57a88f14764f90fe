import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import ROOT

# In pieces, so that this file does not hold what it looks for.
PIECES = [("pypi", r"\.org"), ("python", r"hosted\.org"), ("index", "[-_]url *=")]
ADDRESS = re.compile("|".join(map("".join, PIECES)))
LEFT_OUT = re.compile(r"\.(?!ci$)|__pycache__$|rocktune-out|build$|.*\.egg-info$")


def files() -> Iterator[Path]:
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if not LEFT_OUT.match(name)]
        yield from (Path(folder, name) for name in names if not name.startswith(".coverage"))


@pytest.mark.slow
def test_no_file_names_where_packages_come_from() -> None:
    named = [
        str(path.relative_to(ROOT))
        for path in files()
        if ADDRESS.search(path.read_text(errors="replace"))
    ]
    assert named == []


def test_no_lock_that_records_addresses_is_kept() -> None:
    assert not {"uv.lock", "pylock.toml", "Pipfile.lock"} & {path.name for path in ROOT.iterdir()}
