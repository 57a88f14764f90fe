import sys
from pathlib import Path

# What other rooms' tests use too is in their folders.
for room in ("cli", "jobs", "sampler"):
    sys.path.append(str(Path(__file__).parents[1] / room))
