"""What the tests of several rooms share: scenes, pretended benchmarks, and where things are."""

import itertools
import os
import socket
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"

# Tests keep all cores busy: a process that waits until the machine is idle would never end. Most
# trials here take milliseconds, less than the probe beside them: its own tests ask for it.
AT_ONCE = {"ROCKTUNE_STEP_BACK": "0", "ROCKTUNE_SPEED_PROBE": "0"}


# Each process that runs tests beside others has ports of its own, all below those (32768 and more)
# that the system gives to whoever asks for any port: between the choice of a port and its use by a
# server that takes seconds to start, nobody else can get it.
_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_ports = itertools.cycle(range(15_000 + 1_000 * _worker, 16_000 + 1_000 * _worker))


def unused_port(host: str = "127.0.0.1") -> int:
    """A port at which nothing listens, and which nobody gets who asks for any port."""
    for port in _ports:
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind((host, port))
            except OSError:
                continue
            return port
    raise AssertionError("itertools.cycle ends only when it is empty")


def inherited() -> dict[str, str]:
    """What the processes of tests inherit: nothing that the user has set of Rocktune."""
    kept = {n: value for n, value in os.environ.items() if not n.startswith("ROCKTUNE_")}
    return kept | AT_ONCE
