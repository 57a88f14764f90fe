"""What the tests of several rooms share: scenes, pretended benchmarks, and where things are."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"

# Tests keep all cores busy: a process that waits until the machine is idle would never end. Most
# trials here take milliseconds, less than the probe beside them: its own tests ask for it.
AT_ONCE = {"ROCKTUNE_STEP_BACK": "0", "ROCKTUNE_SPEED_PROBE": "0"}


def inherited() -> dict[str, str]:
    """What the processes of tests inherit: nothing that the user has set of Rocktune."""
    kept = {n: value for n, value in os.environ.items() if not n.startswith("ROCKTUNE_")}
    return kept | AT_ONCE
