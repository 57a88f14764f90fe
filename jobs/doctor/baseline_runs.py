"""The baseline, run as a trial is: same runner, lock, folder and limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from jobs.execution.assembly import Assembly
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.machine.machine import host_name
from sampler.runner.runner import LocalRunner
from sampler.runner.settings import Settings
from sampler.space.space import digest


def run_baseline(
    assembly: Assembly,
    settings: Settings,
    *,
    runs: int,
    waiting: Callable[[str], None],
    began: Callable[[int], None],
    ended: Callable[[Trial], None],
) -> Sequence[Trial]:
    """Measures the baseline again and again.

    Args:
        assembly: The workload and its benchmark.
        settings: Where.
        runs: How often.
        waiting: Told who holds the host, while somebody does.
        began: Told the number of each run, before it.
        ended: Told of each run, after it.

    Raises:
        InputError: The machine cannot run it.
    """
    runner = LocalRunner(assembly.benchmark, settings, waiting=waiting)
    configuration = assembly.problem.space.default_configuration()
    trials = []
    for number in range(1, runs + 1):
        began(number)
        outcome = runner.run(configuration)
        now = datetime.now(UTC)
        trial = Trial(
            number=number,
            phase=Phase.BASELINE,
            purpose=Purpose.BASELINE,
            seed=assembly.problem.seed_of(number),
            configuration=configuration,
            digest=digest(configuration),
            subject=1,
            # It may have waited for the host before.
            started_at=now - timedelta(seconds=outcome.bench_seconds),
        ).ended(outcome, host=host_name(), finished_at=now)
        trials.append(trial)
        ended(trial)
    return trials
