"""What takes seconds to make and is never changed: made once a run, not once in every process."""

import fcntl
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Made = TypeVar("Made")
FOLDER = "TESTS_MADE_ONCE"  # the variable that names the folder of the run


def made_once(name: str, make: Callable[[], Made]) -> Made:
    """A copy of what the first process of the run made under a name; others wait for it."""
    path = Path(os.environ[FOLDER]) / name
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            path.write_bytes(pickle.dumps(make()))
    made: Made = pickle.loads(path.read_bytes())
    return made
