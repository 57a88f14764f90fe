"""A controller for the tests: takes the host's lock, tells so, and holds it until it is killed.

Usage: python holding_the_lock.py LOCK TOKEN [orphan]; with ``orphan`` it first starts a process
that has left its group and inherits the lock, as a benchmark's would.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from sampler.bench.host_lock import MARK, host_lock

lock, token, *rest = sys.argv[1:]
with host_lock(Path(lock), token, pause=time.sleep) as descriptor:
    if rest:
        # It tells its own number, so that it surely runs by then, and stops.
        subprocess.Popen(
            ["/bin/sh", "-c", "echo $$; kill -STOP $$"],
            start_new_session=True,
            pass_fds=(descriptor,),
            stdin=subprocess.DEVNULL,
            env={**os.environ, MARK: token},
        )
    else:
        print("started", flush=True)  # noqa: T201
    signal.pause()
