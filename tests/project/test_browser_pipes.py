"""The pipes of tests/support/api/chromium.py reach the browser, whatever numbers they have."""

import subprocess
import sys

import pytest

from tests.support import ROOT

# A process of its own, for it moves descriptors that pytest may use.
SCRIPT = """\
import fcntl, os, sys
sys.path.append(sys.argv[3])
from tests.support.api.chromium import give_pipes
ends = {}
for name in ("asked", "answered"):
    read, write = os.pipe()
    ends[name] = tuple(fcntl.fcntl(n, fcntl.F_DUPFD, 40) for n in (read, write))
read_from, write_to = int(sys.argv[1]), int(sys.argv[2])
os.dup2(ends["asked"][0], read_from)
os.dup2(ends["answered"][1], write_to)
os.write(ends["asked"][1], b"question")
give_pipes(read_from, write_to)
assert os.read(3, 100) == b"question"
os.write(4, b"answer")
assert os.read(ends["answered"][0], 100) == b"answer"
assert os.get_inheritable(3) and os.get_inheritable(4)
"""


@pytest.mark.parametrize(
    ("read_from", "write_to"), [(3, 4), (4, 3), (20, 21), (21, 20), (5, 20), (20, 3), (4, 6)]
)
def test_they_arrive(read_from: int, write_to: int):
    argv = [sys.executable, "-c", SCRIPT, str(read_from), str(write_to), str(ROOT)]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
