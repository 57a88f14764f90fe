"""What was done, in which order, and why each phase began and ended."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from optimizer.evaluation.configurations import replicated
from optimizer.strategies.registry import find_strategy
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.common.errors import InputError


@dataclass(frozen=True)
class PhaseRow:
    """One phase of a job, with one line each on why it began and ended."""

    name: str
    # began, ended: of its first and its last trial; None where no time is known
    began: datetime | None
    ended: datetime | None
    runs: int  # how many trials it has
    why_begun: str
    why_ended: str


def phase_rows(trials: Sequence[Trial], result: Mapping[str, Any]) -> list[PhaseRow]:
    """The phases in their order; the ranking, which runs nothing, between draws and search.

    Trials that were given, measured before the job, are left out.
    """
    own = [trial for trial in trials if not trial.given]
    runs = {phase: mine for phase in Phase if (mine := [t for t in own if t.phase is phase])}
    known, guided = sum(trial.done for trial in runs.get(Phase.BASELINE, ())), _guided(result)
    begun = {
        Phase.BASELINE: "what every trial is compared with comes first",
        Phase.SAMPLE: f"the baseline was known from {known} runs; draws from the whole space "
        "teach most",
        Phase.SEARCH: "the models say what is worth measuring, and learn from every trial"
        if guided
        else "the ranking names what is worth searching",
        Phase.CONFIRM: "the best few single runs may be luck: they are measured again beside the "
        "baseline",
    }
    rows = []
    for phase, mine in runs.items():
        if phase is Phase.SEARCH:
            names = ", ".join(row["name"] for row in result["parameters"][:5])
            what = "models know what the draws teach" if guided else "the parameters are ranked"
            why = f"{what}; at the end of the job the first are: {names}"
            span = (_span(runs.get(Phase.SAMPLE, ()))[1], _span(mine)[0])
            rows.append(PhaseRow(Phase.RANK.value, *span, 0, "the draws were in", why))
        why = _why_ended(phase, runs, result)
        rows.append(PhaseRow(phase.value, *_span(mine), len(mine), begun[phase], why))
    return rows


def _guided(result: Mapping[str, Any]) -> bool:
    """Whether models guided the search."""
    try:
        return find_strategy(result["job"]["strategy"]).has_models
    except InputError:  # one whose libraries are not installed here
        return False


def _span(trials: Sequence[Trial]) -> tuple[datetime | None, datetime | None]:
    began = [trial.started_at for trial in trials if trial.started_at]
    ended = [trial.finished_at for trial in trials if trial.finished_at]
    return min(began, default=None), max(ended, default=None)


def _why_ended(
    phase: Phase, runs: Mapping[Phase, Sequence[Trial]], result: Mapping[str, Any]
) -> str:
    """``runs`` are the trials of each phase, in their order."""
    mine = runs[phase]
    if phase is Phase.BASELINE:
        return f"its {len(mine)} first runs were made"
    if phase is Phase.CONFIRM:
        purposes = Counter(trial.purpose for trial in mine)
        well = sum(trial.done for trial in mine if trial.purpose is Purpose.PROVE)
        chosen = f"{purposes[Purpose.SELECT]} runs chose the winner"
        return f"{chosen}, {well} of {purposes[Purpose.PROVE]} proof runs ended well"
    if phase is Phase.SAMPLE and Phase.SEARCH in runs:
        draws = sum(trial.purpose is Purpose.CANDIDATE for trial in mine)
        why = (result.get("sampling") or {}).get("why")
        return str(why) if why else f"its share of the budget, {draws} draws, was used"
    search = result.get("search")
    if search and search["saved"]:
        return str(search["why"])
    own, last = [trial for each in runs.values() for trial in each], phase is [*runs][-1]
    ended = _explored_as_planned(own, result, last=last)
    return f"{ended}; {search['why']}" if search else ended


def _explored_as_planned(own: Sequence[Trial], result: Mapping[str, Any], *, last: bool) -> str:
    explored, repeats = sum(t.purpose is Purpose.CANDIDATE for t in own), len(replicated(own))
    new = explored - repeats
    job, planned = result["job"], (result.get("plan") or {}).get("explore")
    unproven = "; nothing could be confirmed" if last else ""
    if planned is None:
        return f"{new} new configurations were tried{unproven}"
    if explored >= planned:
        twice = f", {repeats} of it to measure again what was doubted" if repeats else ""
        return f"the budget for new configurations, {planned}, was used{twice}{unproven}"
    search = job.get("search") or {}
    if any(search.get(name) for name in ("stop_early", "generations", "fitness")):
        return f"the search stopped early, as its settings allow, after {new} configurations"
    if job.get("minutes") is not None:
        return "what was left of the minutes was needed to confirm"
    return f"{new} of {planned} planned configurations were tried{unproven}"
