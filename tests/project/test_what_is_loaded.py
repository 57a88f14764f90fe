"""What takes seconds to load is loaded when a job comes to it, not when a process starts."""

import subprocess
import sys

from tests.support import ROOT

HEAVY = ("scipy", "sklearn", "statsmodels", "pandas", "pyarrow", "distributed")
SCRIPT = f"""\
import sys
import api.server, cli.tuning.run_here, db.trials.trial_log, jobs.worker
print(*(name for name in {HEAVY} if name in sys.modules))
"""


def test_a_process_starts_without_the_libraries_that_learn_and_export() -> None:
    command = [sys.executable, "-c", SCRIPT]
    loaded = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []
