"""What the tests of several rooms share: scenes, pretended benchmarks, and where things are."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"

# Tests keep all cores busy: a process that waits until the machine is idle would never end.
AT_ONCE = {"ROCKTUNE_STEP_BACK": "0"}
