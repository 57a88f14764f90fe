import sys
from pathlib import Path

# Whole jobs on a pretended benchmark, whose results are real documents.
_TESTS = Path(__file__).parents[1]
for folder in ("optimizer", "report"):
    sys.path.append(str(_TESTS / folder))
