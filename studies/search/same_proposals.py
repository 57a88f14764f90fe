"""Whether two versions of the code propose the same: the proposals of simulated jobs, written out.

``python -m studies.search.same_proposals before.json`` at one version, ``... after.json`` at the
other, and ``diff`` tells. Bit for bit: coordinates are written as hexadecimal floats.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from optimizer.trials.trial import Trial
from tests.support.optimizer.pretend_bench import STRATEGY_NAMES, PretendBench, job_of, problem_of

_JOBS = [(strategy, 60, seed) for strategy in (*STRATEGY_NAMES, "greedy") for seed in (1, 2)]
_LONG = [("genetic", 200, 3), ("guided", 96, 3)]


def proposals(strategy: str, trials: int, seed: int) -> list[dict[str, object]]:
    """What a job of a noisy, drifting bench that fails once proposes, trial by trial."""
    bench = PretendBench(
        noise=0.02,
        seed=seed,
        drift=lambda seconds: 1 + 0.1 * math.sin(seconds / 300),
        fails=lambda trial: "no" if trial.number == 8 else None,
    )
    job = job_of(problem_of(strategy, seed=seed), trials, bench)
    job.run()
    return [_row(trial) for trial in job.log.trials()]


def _row(trial: Trial) -> dict[str, object]:
    point = {name: float(u).hex() for name, u in (trial.point or {}).items()}
    return {
        "number": trial.number,
        "purpose": trial.purpose.value,
        "digest": trial.digest,
        "point": point,
        "subject": trial.subject,
        "round": trial.round,
        "why": trial.why,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes the proposals of all jobs to the file that is named."""
    (out,) = sys.argv[1:] if arguments is None else arguments
    found = {
        f"{s}, {n} trials, seed {seed}": proposals(s, n, seed) for s, n, seed in _JOBS + _LONG
    }
    Path(out).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
