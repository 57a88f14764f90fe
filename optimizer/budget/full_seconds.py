"""How long a trial takes that finds nothing prepared."""

from __future__ import annotations

from optimizer.trials.trial import Trial


def full_seconds(trial: Trial) -> float:
    """Seconds of the benchmark, preparing its database included.

    A trial that took a copy of a prepared one was shorter than the next will be that finds none,
    and than every run of a proof, which prepares anew: time is planned with this.
    """
    prepared, measured = (trial.metrics.get(n) for n in ("prepare_seconds", "wall_seconds"))
    if prepared is None or measured is None:
        return trial.bench_seconds
    return max(trial.bench_seconds, prepared + measured)
