"""What went wrong with a job that was struck by faults: each count a list of what was found."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from optimizer.trials.trial import Trial
from sampler.bench.outcome import TrialState
from sampler.workload.metric_table import MACHINE
from tests.support.cluster.fault_bench import Line
from tests.support.sampler.bench_processes import BenchChild

Trials = Mapping[int, Trial]


def gone(ended: Trials, now: Trials) -> list[str]:
    """Trials that had ended and are not there any more."""
    return [f"trial {number} is gone" for number in sorted(ended.keys() - now.keys())]


def missing(asked: int, now: Trials) -> list[str]:
    """Trials that a job which has ended does not have, or that were not measured."""
    states = {number: now[number].state for number in now}
    return [
        f"trial {number} is {states[number].value if number in states else 'missing'}: "
        f"{now[number].failure if number in now else 'it was never begun'}"
        for number in range(1, asked + 1)
        if states.get(number) is not TrialState.DONE
    ]


def changed(ended: Trials, now: Trials, taken_back: Sequence[Mapping[str, Any]]) -> list[str]:
    """Trials that had ended and have changed since.

    Args:
        ended: As they were.
        now: As they are.
        taken_back: The job's document ``withdrawn``: what it took back in the open, and kept.
    """
    openly = {(each["number"], each["attempt"]) for each in taken_back}
    return [
        f"trial {number} has changed: {was.state.value} {dict(was.metrics)} on {was.host} is now "
        f"{now[number].state.value} {dict(now[number].metrics)} on {now[number].host}"
        for number, was in sorted(ended.items())
        if number in now and now[number] != was and (number, was.attempt) not in openly
    ]


def untraced(trials: Iterable[Trial], record: Iterable[Line]) -> list[str]:
    """Results that no run on the trial's host has printed, and runs that count for two trials."""
    runs: defaultdict[tuple[object, ...], list[Line]] = defaultdict(list)
    for line in record:
        if line.word == "ends":
            runs[_key(line.host, line.printed)].append(line)
    found, used = [], dict[str, int]()
    for trial in trials:
        if trial.state is not TrialState.DONE:
            continue
        printed = runs[_key(trial.host, trial.metrics)]
        if len(printed) != 1:
            found.append(f"trial {trial.number} is of {len(printed)} runs on {trial.host}")
        for line in printed:
            if line.token in used:
                found.append(f"trials {used[line.token]} and {trial.number} are of one run")
            used[line.token] = trial.number
    return found


def left(children: Iterable[BenchChild], older: Collection[str]) -> list[str]:
    """Processes of runs that are over."""
    return [
        f"process {each.pid} of the run {each.token} is left on {each.host}"
        for each in children
        if each.token in older
    ]


def runs_again(trials: Iterable[Trial]) -> int:
    """How many runs were begun beyond the first of each trial."""
    return sum(trial.attempt - 1 for trial in trials)


def begun(record: Iterable[Line]) -> int:
    """How many runs have begun."""
    return sum(line.word == "begins" for line in record)


def _key(host: str | None, metrics: Mapping[str, float]) -> tuple[object, ...]:
    printed = {name: float(value) for name, value in metrics.items() if name not in MACHINE}
    return (host, *sorted(printed.items()))
