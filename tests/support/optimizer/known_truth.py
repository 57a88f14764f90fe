"""Whole jobs on a simulated machine of which the truth is known: do the intervals hold it?

The noise is that of 27 runs of the defaults on a busy machine (tests/data/recorded_trials_load):
standard deviations of the logarithms waf 3.5%, sa 1.9%, time 18% from neighbour to neighbour and
23% in all, so a slow drift beside it; waf and sa go against each other (r = -0.7), and a fixed
load's rate is nearly one over its time. Every job is as noisy as that or up to four times quieter.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from optimizer.results.result import Conclusion
from optimizer.run.planning import Budget
from optimizer.trials.trial import Trial
from sampler.common.errors import InputError
from tests.support.optimizer.pretend_bench import (
    Job,
    Metrics,
    PretendBench,
    problem_of,
    small_space,
)

METRICS = ("waf", "sa", "time", "rate")
LEVEL = {"waf": 3.0, "sa": 1.2, "time": 10.0, "rate": 1e5}
WAF_NOISE, SA_NOISE, TIME_NOISE, RATE_OF_ITS_OWN = 0.035, 0.019, 0.18, 0.02
WAF_AGAINST_SA = -0.7
NEIGHBOURS_ALIKE = 0.4  # a run's clock noise that is left in the next one
DRIFT = 0.15
FAILS = 0.02
STALLS, STALL = 0.05, 1.6  # heavy tails: so many runs take so many times as long


@dataclass(frozen=True)
class Block:
    """A kind of machine: whether configurations differ, and how the noise is spread."""

    name: str
    effects: bool
    heavy: bool

    @property
    def number(self) -> int:
        return 2 * self.heavy + self.effects


BLOCKS = (
    Block("effects", effects=True, heavy=False),
    Block("null", effects=False, heavy=False),
    Block("effects, heavy tails", effects=True, heavy=True),
    Block("null, heavy tails", effects=False, heavy=True),
)
# Budget, strategy, objective and change to be detected; jobs take them in turn.
KINDS: tuple[tuple[int, str, str, float | None], ...] = (
    (24, "random", "paper", None),
    (48, "genetic", "paper", None),
    (96, "lhs", "rate", None),
    (120, "random", "rate", 0.10),
    (60, "sobol", "waf", None),
    (96, "random", "paper", 0.05),
)


@dataclass
class KnownMachine(PretendBench):
    """A bench whose medians are known, and whose noise is as real noise."""

    block: Block = BLOCKS[0]

    def __post_init__(self) -> None:
        draw = self._draw(0)
        self._loudness = float(draw.uniform(0.25, 1.0))
        # How much worse a configuration gets with its distance from the best one, by metric.
        sizes = draw.uniform(-0.05, 0.25, size=len(METRICS)) * self.block.effects
        self._strength = dict(zip(METRICS, sizes.tolist(), strict=True))
        self._phase, self._period = draw.uniform(0, 2 * math.pi), draw.uniform(200, 2000)
        self.function, self.fails, self.drift = self.truth, self._failure, self._drift

    def truth(self, configuration: Mapping[str, Any]) -> Metrics:
        """What a run would measure without noise: the median and geometric mean of all runs."""
        far = (configuration["x"] - 0.3) ** 2 + (math.log2(configuration["y"]) / 12 - 0.6) ** 2
        slow = 8.0 if self.block.effects and configuration["idle"] < 0.5 else 1.0  # is cut off
        factor = {name: math.exp(self._strength[name] * far) for name in METRICS}
        factor["rate"] = 1 / (factor["rate"] * slow)
        factor["time"] *= slow
        return {name: LEVEL[name] * factor[name] for name in METRICS}

    def measure(self, trial: Trial) -> Metrics:
        metrics = self.truth(trial.configuration)
        # Some configurations are noisier than others, the baseline is in the middle.
        size = self._loudness * (0.7 + 0.3 * trial.configuration["x"] / 0.9)
        waf, free, own = self._normals(trial.number, 3)
        sa = WAF_AGAINST_SA * waf + math.sqrt(1 - WAF_AGAINST_SA**2) * free
        slower = size * TIME_NOISE * self._clock_noise(trial.number)
        slower += math.log(self._drift(self.clock.seconds)) + self._stall(trial.number)
        metrics["waf"] *= math.exp(size * WAF_NOISE * waf)
        metrics["sa"] *= math.exp(size * SA_NOISE * sa)
        metrics["time"] *= math.exp(slower)
        metrics["rate"] *= math.exp(-slower + size * RATE_OF_ITS_OWN * own)
        return metrics | {"wall_seconds": metrics["time"] + 2.0}

    def _draw(self, *what: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.block.number, *what])

    def _normals(self, number: int, count: int) -> list[float]:
        """Of unit variance; with heavy tails Student's t of three degrees of freedom."""
        draw = self._draw(1, number, count)
        values = draw.standard_t(3, count) / math.sqrt(3) if self.block.heavy else None
        return (draw.normal(size=count) if values is None else values).tolist()

    def _clock_noise(self, number: int) -> float:
        """An autoregressive series of unit variance, whatever was measured before or again."""
        kept = [NEIGHBOURS_ALIKE**k * self._normals(number + 20 - k, 1)[0] for k in range(12)]
        return math.sqrt(1 - NEIGHBOURS_ALIKE**2) * sum(kept)

    def _stall(self, number: int) -> float:
        stalls = self.block.heavy and self._draw(2, number).random() < STALLS
        return math.log(STALL) if stalls else 0.0

    def _drift(self, seconds: float) -> float:
        turn = 2 * math.pi * seconds / self._period + self._phase
        return math.exp(self._loudness * DRIFT * math.sin(turn))

    def _failure(self, trial: Trial) -> str | None:
        if self.block.effects and trial.configuration["idle"] > 9.5:
            return "does not start"
        return "crashed" if self._draw(3, trial.number).random() < FAILS else None


def job_in(block: Block, number: int) -> Job:
    """The job of a number: always the same, whichever ran before."""
    trials, strategy, objective, detect = KINDS[number % len(KINDS)]
    problem = problem_of(
        strategy, space=small_space(), objective=objective, seed=number, detect=detect
    )
    return Job(problem, Budget(trials=trials), KnownMachine(seed=number, block=block))


def line_of(block: Block, number: int) -> dict[str, Any]:
    """One whole job: for each metric its true change and the interval, in percent."""
    job = job_in(block, number)
    trials, strategy, objective, detect = KINDS[number % len(KINDS)]
    asked = {
        "block": block.name,
        "job": number,
        "trials": trials,
        "strategy": strategy,
        "objective": objective,
        "detect": detect,
    }
    try:
        conclusion = job.run()
    except InputError as refused:  # the first runs of the baseline have all crashed
        return asked | {"pairs": 0, "gain": False, "changes": {}, "refused": str(refused)}
    verdict = conclusion.verdict
    return asked | {
        "pairs": verdict.pairs if verdict else 0,
        "gain": bool(verdict and verdict.confirmed),
        "changes": dict(_changes(job, conclusion)),
    }


def _changes(job: Job, conclusion: Conclusion) -> Iterator[tuple[str, list[float]]]:
    verdict, winner = conclusion.verdict, conclusion.winner
    if verdict is None or winner is None:
        return
    before = job.bench.function(job.problem.space.default_configuration())
    after = job.bench.function(conclusion.history[winner].configuration)
    for name in METRICS:
        found = verdict.changes[name]
        true = 100 * (after[name] / before[name] - 1)
        yield name, [round(value, 6) for value in (true, found.low, found.high)]


def holds(change: list[float]) -> bool:
    true, low, high = change
    return low <= true <= high
