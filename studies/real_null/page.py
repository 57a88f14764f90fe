"""docs/results/real_null.md: every figure out of the trials that are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from optimizer.budget.power import ALPHA, p_figure
from optimizer.trials.trial import Purpose
from studies.real_null.any_six_runs import chances_of_any_six, gain_by_raw_clocks
from studies.reproduction.page import machine_words
from studies.reproduction.study import Study

_TURNED = "2026-11-24"  # the first day of which all jobs turn every second pair round
_RARE = 0.01  # a table that only one in a hundred would be speaks against the declared share
_HEAD = (
    "| seed | runs | best single run | fitness, mean of pairs | 95% interval | p | reported |\n"
    "|--:|--:|--:|--:|--:|--:|---|"
)


@dataclass(frozen=True)
class Told:
    """What the page says in one line.

    Attributes:
        wrong: Whether more jobs report a gain than the declared share explains.
    """

    said: str
    wrong: bool


def write_page(out: Path, command: str, studies: Sequence[Study]) -> Told:
    """Writes the page of whole jobs; returns what to say of it."""
    results = [study.result for study in studies]
    found = sum(result["best"] is not None for result in results)
    chance = binomtest(found, len(studies), ALPHA, alternative="greater").pvalue
    six = [p for study in studies for p in chances_of_any_six(study)]
    small = sum(p < ALPHA for p in six)
    runs = [trial for study in studies for trial in study.trials]
    hours = sum(trial.bench_seconds for trial in runs) / 3600
    names = ", ".join(f"`{row['name']}`" for row in results[0]["parameters"])
    share = _interval(found, len(studies))
    said = f"{found} of {len(studies)} report a gain (95% interval of the share {share})"
    lines = [
        "# Does a real job find what is not there?",
        "",
        f"`{command}`: {len(runs):,} runs of `db_bench` in {len(studies)} jobs, {hours:.2f} "
        f"hours. The last job: {machine_words(studies[-1])}",
        "",
        f"Whole jobs with the real `db_bench` on a space whose options do nothing in this load: "
        f"{names}. Whatever one reports is an error. The proof declares {100 * ALPHA:.1f}%. "
        f"**{said}.** So many or more would be {chance:.1%} of such tables if each job were wrong "
        f"in {100 * ALPHA:.1f}%. The best single run of each shows what would have been reported "
        "without a proof.",
        "",
        f"In {sum(map(_in_one_order, studies))} of the {len(studies)} the same side went first in "
        "every pair, where a machine that slows down favours one: since 2026-11-23 every second "
        f"pair is turned round, and it is in none. {_by_order(studies)}",
        "",
        "All runs of a job do the same, so any six in a row, as three pairs, are a proof of what "
        f"is not there: {small} of {len(six)} of these (in both directions; they share runs) are "
        f"below {100 * ALPHA:.1f}%, a share of {small / len(six):.1%}.",
        "",
        *_by_raw_clocks(studies),
        _HEAD,
        *(_line(study, result) for study, result in zip(studies, results, strict=True)),
        "",
    ]
    out.write_text("\n".join(lines), encoding="utf-8")
    return Told(f"{out}: {said}", wrong=chance < _RARE)


def _in_one_order(study: Study) -> bool:
    """Whether the same side went first in every pair of the proof, as no job does today."""
    proof = [trial for trial in study.trials if trial.purpose is Purpose.PROVE]
    first = {trial.subject == study.trials[0].number for trial in proof[::2]}
    return len(first) == 1


def _by_raw_clocks(studies: Sequence[Study]) -> list[str]:
    """Gains by raw clocks and by corrected ones, where runs tell the machine's state."""
    telling = [study for study in studies if study.result.get("machine")]
    if not telling:
        return []
    raw = sum(map(gain_by_raw_clocks, telling))
    return [
        f"In {len(telling)} jobs the runs tell what else ran, and clocks are corrected for it: "
        f"{_counted(telling, 'report a gain')}. By raw clocks {raw} would "
        f"({_interval(raw, len(telling))}).",
        "",
    ]


def _by_order(studies: Sequence[Study]) -> str:
    """Gains among the jobs of each order of pairs."""
    turned = [study for study in studies if _began(study) >= _TURNED]
    drawn = [study for study in studies if _began(study) < _TURNED]
    said = [
        _counted(some, how)
        for some, how in ((drawn, "whose pairs were each drawn"), (turned, "with turned pairs"))
        if some
    ]
    return f"A gain is reported by {' and by '.join(said)}."


def _counted(studies: Sequence[Study], how: str) -> str:
    found = sum(study.result["best"] is not None for study in studies)
    return f"{found} of {len(studies)} {how} ({_interval(found, len(studies))})"


def _interval(found: int, of: int) -> str:
    share = binomtest(found, of).proportion_ci(method="exact")
    return f"{100 * share.low:.1f}% to {100 * share.high:.1f}%"


def _began(study: Study) -> str:
    return min(f"{trial.started_at:%Y-%m-%d}" for trial in study.trials if trial.started_at)


def _line(study: Study, result: Mapping[str, Any]) -> str:
    verdict = result["verdict"]
    single = max(
        (
            study.fitness[trial.number]
            for trial in study.trials
            if trial.purpose is Purpose.CANDIDATE and trial.number in study.fitness
        ),
        default=None,
    )
    best = "-" if single is None else f"{single:+,.0f}"
    proof = ["-", "-", "-"]
    if verdict is not None:
        low, high = verdict["low"], verdict["high"]
        proof = [
            f"{(low + high) / 2:+,.0f}",
            f"{low:+,.0f} to {high:+,.0f}",
            p_figure(verdict["p"]),
        ]
    seed = study.archive.specification.seed
    reported = "**yes**" if result["best"] is not None else "no"
    cells = [str(seed), str(len(study.trials)), best, *proof, reported]
    return f"| {' | '.join(cells)} |"
