"""Runs a trial on each of so many hosts, as a controller does; then perhaps waits for SIGTERM.

It ends with the statuses of `rocktune tune`: 3, or 130 where it was told to end.
"""

import os
import signal
import sys
import time
from pathlib import Path

from distributed import Client

from jobs.cluster.certificates import CertificateRole, security_of


def main(hosts: int, *, waits: bool) -> int:
    security = security_of(Path(os.environ["ROCKTUNE_CERTIFICATES"]), CertificateRole.CONTROLLER)
    address = os.environ["ROCKTUNE_SCHEDULER"]
    with Client(address, security=security, set_as_default=False) as client:
        client.wait_for_workers(hosts, timeout=120)
        trials = client.map(_trial, range(2 * hosts), pure=False, resources={"bench": 1})
        print("measured on", len(set(client.gather(trials))), "hosts", flush=True)  # noqa: T201
        if waits:
            signal.pause()
    return 3


def _trial(number: int) -> int:
    time.sleep(0.3)  # the trial itself: so long that both hosts get one
    return os.getpid() + 0 * number


def _ends(*_: object) -> None:
    os._exit(130)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _ends)
    sys.exit(main(int(sys.argv[1]), waits="--wait" in sys.argv))
