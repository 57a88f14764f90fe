"""How a job went: its phases, failures and noise, and where it was measured, as sections."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from jobs.charts.chart import Chart, drawable
from jobs.report.changed import warm_start_lines
from jobs.report.section import Block, Section, Table, Text, columns
from jobs.results.figures import figure
from optimizer.budget.power import p_figure
from optimizer.evaluation.evaluation import replicated
from optimizer.evaluation.machine_effect import machine_words
from optimizer.results.document import BaselineNoise, Result
from optimizer.strategies.registry import named_strategy
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.common.errors import InputError
from sampler.common.text import format_bytes
from sampler.workload.metric_table import MACHINE, shown_in

_MOST_WARNINGS = 20


def phases_section(result: Result, trials: Sequence[Trial]) -> Section:
    """When each phase began and ended, and why."""
    titles = (("phase", "began (UTC)", "ended"), ("runs",), ("why it began", "why it ended"))
    counts, time = result.trials, result.time
    given = sum(trial.given for trial in trials)
    line = (
        f"{counts.done} of {counts.total} runs succeeded. {time.wall_seconds:.0f} s in total, "
        f"{time.bench_seconds:.0f} s of them in the benchmark."
    )
    if given:
        line += f" {given} trials were imported, measured before the job."
    line += " The baseline is measured again at intervals within the phases."
    lines = [line, *warm_start_lines(result)]
    texts = [Text(each, "dim") for each in lines]
    return Section(
        "phases", "Phases of the job", [Table(columns(*titles), _phases(trials, result)), *texts]
    )


def failures_section(trials: Sequence[Trial]) -> Section:
    """Failures and warnings with the number of runs, most often first."""
    failed = Counter(
        (trial.state.value, (trial.failure.splitlines() or [""])[0][:200])
        for trial in trials
        if trial.failure
    )
    rows = [(*cause, str(count)) for cause, count in failed.most_common()]
    warned = Counter(warning for trial in trials for warning in trial.warnings)
    warnings = [(warning, str(count)) for warning, count in warned.most_common(_MOST_WARNINGS)]
    blocks: list[Block] = [Text("None: every run succeeded.")]
    if rows:
        blocks = [Table(columns(("state", "reason"), ("runs",)), rows)]
    if warnings:
        blocks.append(Table(columns(("warning about runs",), ("runs",)), warnings))
    return Section("failures", "Failures by cause", blocks)


def noise_section(result: Result, of_fitness: float | None, drift: Chart | None) -> Section:
    """How steady the baseline was; ``of_fitness``: the standard deviation of its own fitness."""
    noted = {*result.terms, *shown_in("batch", "proof"), *MACHINE}
    rows = [
        (
            name,
            "n/a" if noise.spread is None else f"{noise.spread:.1%}",
            p_figure(noise.drift_p),
            _drift(noise),
        )
        for name, noise in result.baseline.noise.items()
        if name in noted
    ]
    if of_fitness is not None:
        own = "one standard deviation of the baseline's own fitness"
        rows.append(("fitness", f"± {figure(of_fitness)}", "", own))
    titles = (("metric",), ("spread", "p (no drift)"), ("drift",))
    machine = machine_words(result.machine)
    texts = [Text(f"{machine}.")] if machine else []
    blocks: list[Block] = [Table(columns(*titles), rows), *texts, *drawable([drift])]
    return Section("noise", "Noise and drift of the baseline", blocks)


def _drift(noise: BaselineNoise) -> str:
    if noise.drifting and noise.range:
        low, high = noise.range
        return f"corrected, {low:.2f} to {high:.2f} of the median"
    return "not tested" if noise.drift_p is None else "none detected"


def hosts_section(result: Result) -> Section:
    """Each host's own baseline; without blocks of a job on one host."""
    machines = result.environment.hosts
    metrics = [name for term in result.terms for name in (term, "spread")]
    titles = columns(("host",), ("trials", "baseline runs", *metrics), ("CPU", "note"))
    rows = []
    for host in result.hosts:
        own, told = host.baseline, []
        for metric in result.terms:
            spread = own.spread.get(metric) if own else None
            told.append(figure(own.metrics.get(metric) if own else None))
            told.append("n/a" if spread is None else f"{spread:.1%}")
        cpu = str(machines.get(host.name, {}).get("cpu", ""))
        aside = f"excluded: {host.set_aside}" if host.set_aside else ""
        rows.append((host.name, str(host.trials), str(own.runs if own else 0), *told, cpu, aside))
    what = (
        "The trials of a host are compared with its own baseline. Figures are medians of its "
        "baseline runs."
    )
    table = Table(titles, rows)
    return Section("hosts", "Hosts", [Text(what), table] if len(rows) > 1 else [])


def environment_section(environment: Mapping[str, Any]) -> Section:
    """The machine and the RocksDB that measured, and warnings about them."""
    apart = ("warnings", "hosts", "build", "builds")
    rows = [
        (name, format_bytes(value) if name == "memory_bytes" and value else str(value))
        for name, value in environment.items()
        if name not in apart
    ]
    if build := environment.get("build"):
        asserts = "on" if build["assertions"] else "off"
        codecs = ", ".join(build["codecs"])
        rows.append(("build", f"SHA-256 {build['digest'][:16]}, assertions {asserts}, {codecs}"))
    if machines := environment.get("hosts"):
        rows.append(("hosts", ", ".join(sorted(machines))))
    warnings = [Text(warning, "warn") for warning in environment.get("warnings") or ()]
    known = Table(columns(("name", "value")), rows) if rows else Text(_NOT_BEGUN)
    return Section("environment", "Environment", [*warnings, known])


_NOT_BEGUN = "Available once the job has begun."


def _phases(trials: Sequence[Trial], result: Result) -> list[Sequence[str]]:
    """The phases in their order; the ranking, which runs nothing, between draws and search.

    Trials that were given, measured before the job, are left out.
    """
    own = [trial for trial in trials if not trial.given]
    runs = {phase: mine for phase in Phase if (mine := [t for t in own if t.phase is phase])}
    known, guided = sum(trial.done for trial in runs.get(Phase.BASELINE, ())), _guided(result)
    begun = {
        Phase.BASELINE: "every trial is compared with the baseline",
        Phase.SAMPLE: f"the baseline was measured ({known} runs); random ones cover the space",
        Phase.SEARCH: "the models propose configurations, and learn from every trial"
        if guided
        else "the ranking selects the parameters to search",
        Phase.CONFIRM: "the best single runs may be luck, so they are repeated with the baseline",
    }
    rows: list[Sequence[str]] = []
    for phase, mine in runs.items():
        if phase is Phase.SEARCH:
            names = ", ".join(row.name for row in result.parameters[:5])
            taught = "the models learned from the random ones"
            what = taught if guided else "the parameters are ranked"
            why = f"{what}; most important at the end of the job: {names}"
            times = (_span(runs.get(Phase.SAMPLE, ()))[1], _span(mine)[0])
            measured = "all random configurations were measured"
            rows.append((Phase.RANK.value, *times, "", measured, why))
        why = _why_ended(phase, runs, result)
        rows.append((phase.value, *_span(mine), str(len(mine)), begun[phase], why))
    return rows


def _guided(result: Result) -> bool:
    try:
        return named_strategy(result.job.strategy).has_models
    except InputError:  # one of another version
        return False


def _span(trials: Sequence[Trial]) -> tuple[str, str]:
    """When the first began and the last ended."""
    began = min((trial.started_at for trial in trials if trial.started_at), default=None)
    ended = max((trial.finished_at for trial in trials if trial.finished_at), default=None)
    first, last = (f"{at:%Y-%m-%d %H:%M:%S}" if at else "unknown" for at in (began, ended))
    return first, last


def _why_ended(phase: Phase, runs: Mapping[Phase, Sequence[Trial]], result: Result) -> str:
    """``runs`` are the trials of each phase, in their order."""
    mine = runs[phase]
    if phase is Phase.BASELINE:
        return f"the first {len(mine)} runs were measured"
    if phase is Phase.CONFIRM:
        purposes = Counter(trial.purpose for trial in mine)
        well = sum(trial.done for trial in mine if trial.purpose is Purpose.PROVE)
        chosen = f"{purposes[Purpose.SELECT]} runs chose the winner"
        return f"{chosen}, {well} of {purposes[Purpose.PROVE]} proof runs succeeded"
    if phase is Phase.SAMPLE and Phase.SEARCH in runs:
        draws = sum(trial.purpose is Purpose.CANDIDATE for trial in mine)
        why = result.sampling.why if result.sampling else ""
        return why or f"the sampling budget, {draws} configurations, was used"
    search = result.search
    if search and search.saved:
        return search.why
    own, last = [trial for each in runs.values() for trial in each], phase is [*runs][-1]
    ended = _explored_as_planned(own, result, last=last)
    return f"{ended}; {search.why}" if search else ended


def _explored_as_planned(own: Sequence[Trial], result: Result, *, last: bool) -> str:
    explored, repeats = sum(t.purpose is Purpose.CANDIDATE for t in own), len(replicated(own))
    new = explored - repeats
    job, planned = result.job, result.plan.explore
    unproven = "; nothing could be confirmed" if last else ""
    if planned is None:
        return f"{new} new configurations were tried{unproven}"
    if explored >= planned:
        twice = f", {repeats} of it to repeat doubtful results" if repeats else ""
        return f"the budget for new configurations, {planned}, was used{twice}{unproven}"
    search = job.search or {}
    if any(search.get(name) for name in ("stop_early", "generations", "fitness")):
        return f"the search stopped early, as its settings allow, after {new} configurations"
    if job.minutes is not None:
        return "the remaining time was needed for the confirmation"
    return f"{new} of {planned} planned configurations were tried{unproven}"
