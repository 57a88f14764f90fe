import sys
from pathlib import Path

# What other rooms' tests use too is in their folders.
for room in ("api", "cli", "jobs", "upgrade"):
    sys.path.append(str(Path(__file__).parents[1] / room))
