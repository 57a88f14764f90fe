"""By which clocks the proof is judged: corrected for the machine's state, or raw.

The correction is right only of a state that the winner does not change itself.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from optimizer.baseline.machine_effect import MachineEffect, effects_of, machine_document
from optimizer.budget.confirm_load import apart
from optimizer.budget.power import p_words
from optimizer.confirmation.proof import Pair, interval_of_mean
from optimizer.evaluation.evaluation import Evaluation
from optimizer.trials.trial import Purpose, Trial
from sampler.workload.metric_units import MACHINE

_CHANGED = 0.05  # a p-value of "the winner changes the state" below this says that it does
# By how much a winner may change each of ``MACHINE`` (a share of the processors, the logarithm of
# the speed) unseen: the pairs show larger changes alone, and what the correction makes of a small
# one must not pass for a gain. One standard deviation.
_UNSEEN = (0.02, math.log(1.01))


@dataclass(frozen=True)
class ProofClocks:
    """By which clocks a proof is judged; without effects by raw ones."""

    effects: Mapping[str | None, MachineEffect] = field(default_factory=dict)  # by host
    # For ``judge``: what a change of the state would do to the winner's clocks that is too small
    # to be seen.
    unseen: Sequence[Mapping[str, float]] = ()
    why: str = ""  # one clause, where the winner changes the state

    def metrics(self, trial: Trial) -> Mapping[str, float]:
        """A run of the proof as it is judged."""
        effect = self.effects.get(trial.host)
        return effect.corrected(trial.metrics) if effect else trial.metrics

    def pairs(self, both: Sequence[tuple[Trial, Trial]]) -> list[Pair]:
        """(baseline's, winner's) metrics as they are judged."""
        return [(self.metrics(theirs), self.metrics(mine)) for theirs, mine in both]


def machine_before_proof(evaluation: Evaluation) -> dict[str, Any] | None:
    """How each host's clocks depend on the machine's state, by what ran before the proof.

    Its runs change nothing of it, so that they are corrected by what was fixed before them. Where
    the confirmation measures another load, runs of that load alone count.
    """
    problem, history = evaluation.problem, evaluation.history
    until = next(iter(history.numbers(Purpose.PROVE)), history.next_number)
    state = (until, *(history.changes(each) for each in Purpose if each is not Purpose.PROVE))

    def learn() -> dict[str, Any] | None:
        before = [trial for trial in history if trial.done and trial.number < until]
        runs = [t for t in before if problem.confirm is None or apart(problem, t)]
        hosts = dict.fromkeys(trial.host for trial in runs)
        return machine_document({host: [t for t in runs if t.host == host] for host in hosts})

    return evaluation.once("machine", state, learn)


def declared_clocks(evaluation: Evaluation) -> dict[str, Any]:
    """What the declared test says of its clocks; nothing where they are raw."""
    machine = machine_before_proof(evaluation)
    if machine is None or not any(host["coefficients"] for host in machine["hosts"]):
        return {}
    by = (
        "corrected for the machine's load by coefficients learned before, unless the winner "
        f"itself changes it: paired t, p < {_CHANGED:g}; then raw clocks"
    )
    return {"clocks": by, "machine": machine}


def proof_clocks(
    machine: Mapping[str, Any] | None, both: Sequence[tuple[Trial, Trial]]
) -> ProofClocks:
    """The clocks of (baseline, winner) runs, by the coefficients that were declared.

    Raw ones where the winner itself changes a state that a coefficient is used of: where the
    paired t test of what is corrected for, winner less baseline, gives p < 0.05.
    """
    effects = {host: effect for host, effect in effects_of(machine).items() if effect.coefficients}
    both = [pair for pair in both if pair[0].host in effects and pair[1].host in effects]
    if len(both) < 2:
        return ProofClocks(effects)
    away = [[effects[run.host].away(run.metrics) for run in pair] for pair in both]
    moved = np.diff(np.array(away), axis=1)[:, 0]
    slopes = [effects[mine.host].coefficients for _, mine in both]
    unseen = []
    for place, (name, least) in enumerate(zip(MACHINE, _UNSEEN, strict=True)):
        used = {clock for each in slopes for clock in each if each[clock][place]}
        if not used:
            continue
        p = interval_of_mean(moved[:, place])[2]
        if p < _CHANGED:
            return ProofClocks(why=f"by raw clocks, as the winner changes {name} ({p_words(p)})")
        mean = {c: sum(s[c][place] for s in slopes if c in s) / len(slopes) for c in used}
        unseen.append({clock: math.exp(slope * least) for clock, slope in mean.items()})
    return ProofClocks(effects, unseen)
