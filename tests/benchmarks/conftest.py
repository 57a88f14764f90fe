import sys
from pathlib import Path

# What the optimizer's tests measure with is in their folder.
sys.path.append(str(Path(__file__).parents[1] / "optimizer"))
