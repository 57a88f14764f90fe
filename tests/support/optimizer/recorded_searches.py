"""Whole jobs with fixed seeds, as they came out when they were recorded: has a search changed?

``python -m tests.support.optimizer.recorded_searches`` runs every job again and prints what
differs from ``tests/data/recorded_searches.json``: the first trial that is another, the winner,
and the parts of result.json. ``--record`` writes the file. Models are computed in floating point,
so on another processor a guided search may take another path: compare a change with its parent.
"""

import argparse
import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from optimizer.evaluation.evaluation import Evaluation
from optimizer.objective.objective import Limit
from optimizer.objective.objective_file import load_objective
from optimizer.results.result import Conclusion, conclude, job_result
from optimizer.strategies.registry import STRATEGIES, missing_extra
from optimizer.surrogate.training_data import prior_job
from optimizer.trials.problem import Prior, StartingPoint
from optimizer.trials.trial import History, Trial
from sampler.space.latent import encode
from sampler.space.space_file import load_space
from tests.support.optimizer.asking_runner import AskingRunner
from tests.support.optimizer.pretend_bench import PretendBench, job_of, problem_of
from tests.support.optimizer.pretend_hosts import PretendHost, PretendHosts, tuned

RECORDED = Path(__file__).parents[2] / "data/recorded_searches.json"
# What these draw depends on no linear algebra: every machine gives the same.
WITHOUT_MODELS = ("random", "lhs", "sobol", "nsga2")
_NOISE = {"waf": 0.01, "sa": 0.005, "time": 0.05, "rate": 0.05}
_DIGITS = 4  # hexadecimal, of each trial


def _bench() -> PretendBench:
    return PretendBench(noise=_NOISE, seed=3, fails=lambda t: "no" if t.number == 9 else None)


def one_host(
    strategy: str, trials: int = 60, *, objective: str = "paper", **more: Any
) -> Conclusion:
    """A job of one host that fails once."""
    return job_of(problem_of(strategy, objective=objective, **more), trials, _bench()).run()


def many_hosts(strategy: str) -> Conclusion:
    """Three hosts, one of which jumps and is excluded."""
    hosts = [PretendHost("a"), PretendHost("b", slow=1.3), PretendHost("c", jump=300, jumps=2.0)]
    return tuned(problem_of(strategy), 90, PretendHosts(hosts))


def asked(strategy: str) -> Conclusion:
    """A runner of the user's own, that asks for one to seven trials and gives some."""
    runner = AskingRunner(problem_of(strategy, objective="waf"), 48, _bench())
    runner.wander(Random(5), lost=0.1, give=0.05)
    return conclude(Evaluation(runner.problem, History(runner.history)), runner.plan)


def limited() -> Conclusion:
    """Guided under limits, with starting points and an earlier job; it may end early."""
    earlier = job_of(problem_of("guided", seed=11), 40, _bench())
    known = earlier.run().history
    limits = (Limit("sa", at_most_baseline=1.05), Limit("waf", at_most=4.0))
    objective = replace(load_objective("paper"), limits=limits)
    problem = problem_of("guided", objective=objective, stop_early=True)
    places = ((f"start {k}", dict.fromkeys(problem.space.names, k / 4)) for k in (1, 3))
    problem = replace(problem, starts=tuple(StartingPoint(*place) for place in places))
    prior = Prior((prior_job(problem, earlier.problem, known, job=1),))
    return job_of(replace(problem, prior=prior), 90, _bench()).run()


def options_of_rocksdb() -> Conclusion:
    """Guided over RocksDB's options, with rules between them: a fifth of them matter."""
    space = load_space("default")
    weights = {name: math.sin(7 * place) for place, name in enumerate(space.names[::5], 1)}

    def metrics(configuration: Mapping[str, Any]) -> dict[str, float]:
        point = encode(space, configuration, memory=None)
        far = sum(w * abs(point[name] - 0.3) for name, w in weights.items())
        return {"waf": 5 * math.exp(far), "sa": 1.2, "time": 9 + far, "rate": 1e5 / (9 + far)}

    bench = PretendBench(metrics, noise=_NOISE, seed=4)
    return job_of(problem_of("guided", space=space), 80, bench).run()


def cases() -> Mapping[str, Callable[[], Conclusion]]:
    """Every job by its name."""
    found: dict[str, Callable[[], Conclusion]] = {}
    for name in STRATEGIES:
        if missing_extra(name) is None:
            found[name] = lambda name=name: one_host(name)
    found["guided, 3 hosts"] = lambda: many_hosts("guided")
    found["genetic, 3 hosts"] = lambda: many_hosts("genetic")
    found["genetic, asked"] = lambda: asked("genetic")
    found["guided, asked"] = lambda: asked("guided")
    found["guided, limits, starts, earlier job"] = limited
    found["guided, RocksDB's options"] = options_of_rocksdb
    found["guided, 150 trials"] = lambda: one_host("guided", 150, objective="rate", seed=2)
    return found


def _hash(value: Any, digits: int) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def _told(trial: Trial) -> list[Any]:
    return [
        trial.number, trial.phase, trial.purpose, trial.subject, trial.round, trial.attempt,
        trial.host, trial.digest, trial.why,
    ]  # fmt: skip


def hashes(trials: Iterable[Trial]) -> list[str]:
    """What was measured, and why, in four characters a trial, by number."""
    return [_hash(_told(t), _DIGITS) for t in sorted(trials, key=lambda trial: trial.number)]


def recorded(conclusion: Conclusion) -> dict[str, Any]:
    """A job in a few hundred characters: a hash of each trial and of each part of result.json."""
    document = job_result(conclusion, job={}, environment={}).document()
    return {
        "trials": "".join(hashes(conclusion.history)),
        "winner": conclusion.winner,
        "result": {name: _hash(part, 8) for name, part in document.items()},
    }


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What of a job is another, in words; empty: nothing."""
    found = []
    one, other = before["trials"], now["trials"]
    if one != other:
        pairs = zip(_parts(one), _parts(other), strict=False)
        equal = next((k for k, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
        found.append(
            f"trial {equal + 1} is another ({len(one) // 4} and {len(other) // 4} trials)"
        )
    if before["winner"] != now["winner"]:
        found.append(f"the winner is {now['winner']} and was {before['winner']}")
    names = sorted(before["result"].keys() | now["result"].keys())
    parts = [n for n in names if before["result"].get(n) != now["result"].get(n)]
    return found + ([f"in result.json: {', '.join(parts)}"] if parts else [])


def _parts(trials: str) -> list[str]:
    return [trials[k : k + _DIGITS] for k in range(0, len(trials), _DIGITS)]


def main(arguments: Iterable[str] | None = None) -> int:
    """Compares, or records."""
    parser = argparse.ArgumentParser(description="Compare searches with those recorded.")
    parser.add_argument("--record", action="store_true", help="write the file anew")
    parser.add_argument("--file", type=Path, default=RECORDED, help="where they are recorded")
    parser.add_argument("--only", default="", help="jobs whose name begins so")
    given = parser.parse_args(arguments)
    before = json.loads(given.file.read_text()) if given.file.exists() else {}
    changed = 0
    for name, run in cases().items():
        if not name.startswith(given.only):
            continue
        now = recorded(run())
        found = differences(before[name], now) if name in before else ["not recorded yet"]
        changed += bool(found)
        sys.stdout.write(f"{name}: {'; '.join(found) or 'the same'}\n")
        sys.stdout.flush()
        before[name] = now
    if given.record:
        lines = (f"{json.dumps(name)}: {json.dumps(job)}" for name, job in before.items())
        given.file.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return 0
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
