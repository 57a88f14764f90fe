"""Which trials of a job may take a copy of a prepared database, here and on a cluster."""

from typing import Any

import pytest

from jobs.cluster import host as bench_host
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.bench.outcome import Outcome, TrialState
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings


def trial(purpose: Purpose) -> Trial:
    confirms = purpose in (Purpose.SELECT, Purpose.PROVE)
    phase = Phase.CONFIRM if confirms else Phase.SEARCH
    return Trial(number=1, phase=phase, purpose=purpose, seed=1, configuration={}, digest="d",
                 subject=1)  # fmt: skip


@pytest.mark.parametrize("purpose", list(Purpose))
def test_every_trial_may_but_those_of_the_proof(
    purpose: Purpose, settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    proves = purpose is Purpose.PROVE
    asked: dict[str, Any] = {}
    done = Outcome(state=TrialState.DONE)
    monkeypatch.setattr(LocalRunner, "start", lambda _, __, **given: asked.update(given))
    monkeypatch.setattr(LocalRunner, "wait", lambda *_: done)
    monkeypatch.setattr(bench_host, "load_settings", lambda: settings)
    assert bench_host.measure_trial(_command(), trial(purpose), None) == done
    assert (asked["share"], asked["reads"]) == (not proves, 3 if proves else 0)


def _command() -> Any:
    from jobs.specification.specification import Specification, checked

    draft = Specification.model_construct(
        workload={"name": "w", "command": {"argv": ["true"]}},
        space={"name": "s", "parameter": [{"name": "x", "type": "int", "low": 1, "high": 9}]},
        objective={"name": "o", "metric": [{"name": "y", "direction": "min"}]},
        shipped_space=False,
    )
    return checked(draft)
