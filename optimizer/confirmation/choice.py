"""Which explored configurations are measured again, in which rounds, and which of them wins.

What is compared with each other is measured on one host, one after the other. A round of choosing
holds the baseline and every candidate, a pair of the proof the baseline and the winner. Purposes
are ``SELECT`` and ``PROVE``, and ``size`` is how many trials a whole round has. Hosts work at
different rounds side by side. A round whose host has gone is begun again elsewhere.
"""

import math
import random
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from optimizer.budget.budget import Plan, apart
from optimizer.evaluation.baseline import mean_metrics, summarise
from optimizer.evaluation.evaluation import Evaluation, MeasuredConfiguration, configurations_of
from optimizer.objective.objective import MOST_GAIN, SCALE, Objective
from optimizer.strategies.changes import NOTICED, Changes
from optimizer.strategies.registry import STRATEGIES
from optimizer.surrogate.predictions import PredictedChanges, predicted_changes, scatter
from optimizer.trials.problem import Problem
from optimizer.trials.trial import BASELINE_TRIAL, History, Purpose, Trial
from sampler.bench.outcome import TrialState


@dataclass(frozen=True)
class BlockRun:
    """What a host measures next within rounds, which are counted from 1."""

    round: int
    subject: int  # the number of the trial that first measured the configuration
    lost: Trial | None = None  # the trial of the round that is run again; None: a new one


def blocks_of(history: History, purpose: Purpose, size: int) -> Mapping[int, Sequence[Trial]]:
    """The trials of each round by its number; those without one by their order."""
    found: defaultdict[int, list[Trial]] = defaultdict(list)
    for place, trial in enumerate(history.of(purpose)):
        found[trial.round or 1 + place // size].append(trial)
    return found


def next_in_block(
    history: History, purpose: Purpose, subjects: Sequence[int], count: int, *,
    seed: int, host: str | None,
) -> BlockRun | None:  # fmt: skip
    """What a free host measures next; None when every round is another host's, or begun by all.

    Each of ``count`` rounds measures all subjects. Where ``host`` is None the rounds are bound to
    nobody.
    """
    begun = blocks_of(history, purpose, len(subjects))
    mine = [k for k, trials in begun.items() if host is None or host_of(trials) == host]
    free = [k for k in range(1, count + 1) if k not in mine and host_of(begun.get(k, ())) is None]
    theirs = begun.keys() - {*mine, *free}
    # The round that turns round one's own order first, that of another host's order last.
    free.sort(key=lambda k: (_partner(k) in theirs) - (_partner(k) in mine))
    for number in sorted(k for k in mine if k <= count) + free:
        there = {trial.subject: trial for trial in begun.get(number, ())}
        for subject in order_of(subjects, number, seed=seed):
            trial = there.get(subject)
            if trial is None or trial.state is TrialState.LOST:
                return BlockRun(number, subject, trial)
    return None


def host_of(trials: Collection[Trial]) -> str | None:
    """The host that a round is bound to: of those of its trials that are not lost."""
    return next((t.host for t in trials if t.state is not TrialState.LOST and t.host), None)


def _partner(number: int) -> int:
    """The round that takes the order of this one backwards, or the one whose order this does."""
    return number + 1 if number % 2 else number - 1


def order_of(subjects: Sequence[int], number: int, *, seed: int | str) -> list[int]:
    """Whose turn it is within a round: each once.

    The order is drawn anew for every second round, and the round after it takes it backwards: a
    machine that measures both and slows down steadily slows all subjects of the two alike.
    """
    ordered = sorted(subjects)
    block, second = divmod(number - 1, 2)
    drawn = random.Random(f"{seed}/{ordered}/{block}").sample(list(subjects), len(subjects))
    return drawn[::-1] if second else drawn


def complete(history: History, purpose: Purpose, size: int, count: int) -> bool:
    """Whether every trial of every round has an outcome."""
    trials = history.of(purpose)
    return len(trials) >= size * count and all(trial.has_outcome for trial in trials)


def orphaned(history: History, purpose: Purpose, size: int, hosts: Collection[str]) -> list[Trial]:
    """Ended trials of unfinished rounds whose host is not there: nothing to compare them with."""
    found: list[Trial] = []
    for trials in blocks_of(history, purpose, size).values():
        host = host_of(trials)
        over = sum(trial.has_outcome for trial in trials)
        if host is not None and host not in hosts and over < size:
            found += [trial for trial in trials if trial.has_outcome]
    return found


def candidates_of(evaluation: Evaluation, plan: Plan) -> list[int]:
    """The numbers of the explored configurations that are measured again, the fittest first.

    One that was measured several times is one candidate, with the mean of its runs; one that ever
    failed is none.

    Where the strategy has models, every other one is theirs: the best single measurement is often
    just the luckiest, and models err where they know little. Among the candidates are also, where
    there are any and the plan has room: simplified versions of the best, the best starting point,
    and the best that is worse than the baseline in no term of the objective.

    Judged by the baseline as it was known when exploration ended, so that the choice does not
    change while it is confirmed.
    """
    state = (plan, *_explored(evaluation))
    return evaluation.once("candidates", state, lambda: _candidates(evaluation, plan))


def best_explored(evaluation: Evaluation) -> list[int]:
    """All that may win, none of them simplified: the best first, by turns of models and runs."""
    ranked = evaluation.once("ranked", _explored(evaluation), lambda: _ranked(evaluation))
    return [n for n in ranked if not evaluation.history[n].is_simplified]


def best_start(evaluation: Evaluation) -> int | None:
    """The starting point that the models or its runs hold for the best; None without one."""
    history = evaluation.history
    return next((n for n in best_explored(evaluation) if history[n].is_start), None)


def proof_subjects(evaluation: Evaluation, plan: Plan) -> list[int]:
    """What a block of the proof measures: the baseline, the winner, the best starting point.

    The last is left out where it is the winner or the plan has no room; without a winner it is
    the baseline alone.
    """
    winner = choice_of(evaluation, plan).winner
    if winner is None:
        return [BASELINE_TRIAL]
    start = best_start(evaluation) if plan.sides > 2 else None
    also = [start] if start is not None and start != winner else []
    return [BASELINE_TRIAL, winner, *also]


def best_without_trade(evaluation: Evaluation) -> int | None:
    """The fittest explored one, by its means, that is worse than the baseline in no term."""
    objective, before = evaluation.problem.objective, as_explored(evaluation)
    level = before.baseline.metrics
    found = configurations_of(before, before.history.of(Purpose.CANDIDATE))
    able = [
        each
        for each in found
        if may_win(evaluation.problem, each.first) and each.fitness > 0
        and all(gain >= 0 for gain in objective.gains(each.metrics, level).values())
    ]  # fmt: skip
    best = max(able, key=lambda each: (each.fitness, -each.first.number), default=None)
    return best.first.number if best else None


def _candidates(evaluation: Evaluation, plan: Plan) -> list[int]:
    full = best_explored(evaluation)
    if plan.candidates < 2:
        return full[: plan.candidates]
    simple = _simplest(evaluation, full[:1])
    start, untraded = best_start(evaluation), best_without_trade(evaluation)
    wanted = [*full[:1], *simple, start, *full[1:2], untraded, *full[2:]]
    chosen = {n: None for n in wanted if n is not None}
    return [*chosen][: plan.candidates]


def _simplest(evaluation: Evaluation, best: Sequence[int]) -> list[int]:
    """At most two of the simplified versions: the fewest changes first.

    One that loses no more than a user would notice, and the fittest, as the models expect.
    """
    problem, history = evaluation.problem, evaluation.history
    measured = configurations_of(
        as_explored(evaluation), [history[n] for n in history.simplified if history[n].done]
    )
    tried = [each.first for each in measured if each.fitness > -MOST_GAIN * SCALE]
    known = _models(evaluation) if tried else None
    if known is None:
        return [trial.number for trial in tried][-2:]
    numbers = [*best, *(trial.number for trial in tried)]
    fitness = known.fitness([history[n].configuration for n in numbers])
    counts = [Changes(problem, trial.configuration).own for trial in tried]
    theirs = fitness[len(best) :]
    fittest = int(np.argmax(theirs))
    enough = float(fitness.max()) - NOTICED * abs(float(fitness.max()))
    able = [place for place in range(len(tried)) if theirs[place] >= enough]
    fewest = min(able, key=lambda k: (counts[k], -theirs[k]), default=fittest)
    return list(dict.fromkeys([tried[fewest].number, tried[fittest].number]))


def _models(evaluation: Evaluation) -> PredictedChanges | None:
    """What the job's models expect by all that was explored; None where there are none."""
    before = as_explored(evaluation)
    return before.once("predicted", None, lambda: predicted_changes(before))


def may_win(problem: Problem, trial: Trial) -> bool:
    """What is proposed keeps the memory budget; what is given need not, and then only teaches."""
    return not trial.given or problem.affords(trial.configuration)


def as_explored(evaluation: Evaluation) -> Evaluation:
    """The trials as they were when exploration ended: runs of the baseline, and candidates."""
    if not any(evaluation.history.numbers(each) for each in (Purpose.SELECT, Purpose.PROVE)):
        return evaluation

    def before() -> Evaluation:
        purposes = (Purpose.BASELINE, Purpose.CANDIDATE)
        known = [t for each in purposes for t in _before_confirmation(evaluation.history, each)]
        # Learning anew how much each parameter matters would take seconds.
        return evaluation.over(History(known), "components")

    return evaluation.once("explored", _explored(evaluation), before)


def _explored(evaluation: Evaluation, *more: Purpose) -> tuple[int, ...]:
    """Changes where anything was measured, so that it is sorted once, not at every step."""
    purposes = (Purpose.BASELINE, Purpose.CANDIDATE, *more)
    return tuple(evaluation.history.changes(purpose) for purpose in purposes)


def _ranked(evaluation: Evaluation) -> list[int]:
    problem, before = evaluation.problem, as_explored(evaluation)
    found = configurations_of(before, before.history.of(Purpose.CANDIDATE))
    ranked = sorted(found, key=lambda each: (-each.fitness, each.first.number))
    measured = [each.first.number for each in ranked if may_win(problem, each.first)]
    strategy = STRATEGIES.get(problem.strategy)
    if strategy is None:
        return measured
    own = set(measured)
    preferred = [n for n in strategy.preferred(before) if n in own]
    in_turn = (n for both in zip_longest(preferred, measured) for n in both if n is not None)
    return list(dict.fromkeys(in_turn))


def _before_confirmation(history: History, purpose: Purpose) -> list[Trial]:
    """Without trials that were given later: the choice does not change while it is confirmed."""
    confirming = [*history.numbers(Purpose.SELECT)[:1], *history.numbers(Purpose.PROVE)[:1]]
    until = min(confirming, default=history.next_number)
    return [trial for trial in history.of(purpose) if trial.number < until]


@dataclass(frozen=True)
class Chosen:
    """A candidate beside the others."""

    number: int
    fitness: float  # ``Objective.rank_value`` of the means of its choosing runs
    by_round: Mapping[int, float]  # the fitness of each of them
    metrics: Mapping[str, float]  # means
    own: int  # how many options it changes that follow no other change


@dataclass(frozen=True)
class Choice:
    """How the candidates came out."""

    winner: int | None  # the number of the trial; None if there is none
    candidates: tuple[Chosen, ...]  # all that were measured whole; empty where none was chosen

    @property
    def fullest(self) -> Chosen | None:
        """The best of those with more changes than the winner; None: it is the fullest."""
        own = next((each.own for each in self.candidates if each.number == self.winner), None)
        more = [each for each in self.candidates if own is not None and each.own > own]
        return max(more, key=lambda each: each.fitness, default=None)


def choice_of(evaluation: Evaluation, plan: Plan) -> Choice:
    """The candidate for the proof, the simplest that is as good as the best, beside the others."""
    state = (plan, *_explored(evaluation, Purpose.SELECT))
    return evaluation.once("choice", state, lambda: _choice(evaluation, plan))


def _choice(evaluation: Evaluation, plan: Plan) -> Choice:
    problem, history = evaluation.problem, evaluation.history
    candidates = candidates_of(evaluation, plan)
    rounds = blocks_of(history, Purpose.SELECT, 1 + len(candidates))
    # Where the baseline failed, too, a candidate's run says nothing of the candidate.
    sound = {
        number: each
        for number, each in rounds.items()
        if not any(run.is_baseline and run.has_outcome and not run.done for run in each)
    } or rounds
    if not candidates or not history.of(Purpose.SELECT):
        return Choice(candidates[0] if candidates else None, ())
    select = [trial for each in sound.values() for trial in each if trial.done]
    beside = [run for run in select if run.is_baseline]
    if problem.confirm is None:
        beside = [*_before_confirmation(history, Purpose.BASELINE), *beside]
    elif not beside:
        return Choice(None, ())  # of that load nothing is known to compare with
    baseline = summarise(beside)
    found: list[Chosen] = []
    for number in candidates:
        # Within a job drift hits all candidates of a round alike; hosts differ, so that counts.
        # The noise of a host's only run does too: it was measured beside all of them.
        runs = [
            (place, baseline.corrected(trial.metrics, None, trial.host, least=1))
            for place, each in sound.items()
            for trial in each
            if trial.done and trial.subject == number
        ]
        if len(runs) < plan.rounds - (len(rounds) - len(sound)):
            continue  # it failed when measured again
        # Of the means: a limit is broken by them or kept, not by one noisy run of several.
        mean = mean_metrics([run for _, run in runs])
        rank = problem.objective.rank_value
        values = {place: rank(run, baseline.metrics) for place, run in runs}
        own = Changes(problem, history[number].configuration).own
        found.append(Chosen(number, rank(mean, baseline.metrics), values, mean, own))
    if not found:
        return Choice(None, ())
    best = max(found, key=lambda each: each.fitness)
    winner = _simplest_as_good(evaluation, best, found, beside, baseline.metrics)
    return Choice(winner, tuple(found))


def _simplest_as_good(
    evaluation: Evaluation,
    best: Chosen,
    found: Sequence[Chosen],
    beside: Sequence[Trial],
    level: Mapping[str, float],
) -> int:
    """The candidate with the fewest changes that is within one standard error of the best.

    The one-standard-error rule (Breiman, Friedman, Olshen and Stone, Classification and
    Regression Trees, 1984, section 3.4.3). How much worse one is comes from the choosing runs,
    and from the models, which have not seen these; each counts by its error. Models that know
    little may be sure all the same, so by the runs alone it must not be worse by more either. Two
    runs that happen to agree do not decide: their error is never taken below that of two runs of
    the baseline.
    """
    problem, history = evaluation.problem, evaluation.history
    if not history.simplified:
        return best.number
    runs = [summarise(beside).corrected_trial(run) for run in beside]
    noise = scatter(problem.objective, runs, level, best.metrics) or 0.0
    known = _models(evaluation)
    for each in sorted(found, key=lambda c: (c.own, -c.fitness)):
        shared = [*(best.by_round.keys() & each.by_round.keys())]
        if each.own >= best.own or not shared:
            continue
        differences = [best.by_round[place] - each.by_round[place] for place in shared]
        spread = float(np.std(differences, ddof=1)) if len(shared) > 1 else 0.0
        error = max(spread, noise * math.sqrt(2)) / math.sqrt(len(shared))
        worse, sure = best.fitness - each.fitness, error
        if worse > sure:
            continue
        if known is not None and error > 0:
            both = [history[number].configuration for number in (best.number, each.number)]
            drawn = known.drawn_fitness(both)
            less = drawn[:, 0] - drawn[:, 1]
            weights = error**-2, max(float(less[1:].std()), 1e-9) ** -2
            worse = (weights[0] * worse + weights[1] * float(less[0])) / sum(weights)
            sure = 1 / math.sqrt(sum(weights))
        if worse <= sure:
            return each.number
    return best.number


@dataclass(frozen=True)
class TradeOffs:
    """What another preference than the job's own chooses."""

    judged: int  # how many configurations were measured whole, and may be picked
    keeping: int  # how many of them keep every limit
    best: tuple[MeasuredConfiguration, ...]  # the fittest first, by the preference


def select_trade_offs(evaluation: Evaluation, objective: Objective, *, count: int) -> TradeOffs:
    """The few best of all measured configurations by a preference, the objective.

    At most ``count``; of equal ones those that were measured first. A configuration is judged by
    the means of all its runs, clocks corrected; those of the choice and of the proof count where
    they measured the same load. One that ever failed is not picked, nor one that was given and
    needs more memory than the job may. The best of many single runs is partly luck, so what is
    picked is explored, not proven.

    Raises:
        ValueError: No run of the baseline has ended well.
    """
    problem, history = evaluation.problem, evaluation.history
    asked = Evaluation(replace(problem, objective=objective), history)
    level = asked.baseline.metrics
    tried = (trial for trial in history if not trial.is_baseline and not apart(problem, trial))
    whole = [
        each
        for each in configurations_of(asked, tried)
        if may_win(problem, each.first) and objective.fitness(each.metrics, level) is not None
    ]
    keeping = [each for each in whole if objective.admissible(each.metrics, level)]
    keeping.sort(key=lambda each: (-each.fitness, each.first.number))
    return TradeOffs(len(whole), len(keeping), tuple(keeping[:count]))
