import sys
from pathlib import Path

# What other rooms' tests use too is beside the rooms' folders.
sys.path.append(str(Path(__file__).parents[1]))
