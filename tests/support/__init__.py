"""What the tests of several rooms share: scenes, pretended benchmarks, and where things are."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
