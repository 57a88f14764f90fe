"""What a job's trials offer to another taste: picks by preference, fronts of any two metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from pydantic_core import from_json

from jobs.report.options_file import about_configuration
from jobs.results.export import difference_of, export_options
from jobs.results.fits import about_to_fit, fitted
from jobs.specification.experiments import PickRequest
from jobs.specification.resolved_job import ResolvedJob, resolve
from jobs.views.answers import (
    ModelOpinion,
    ParetoFront,
    ParetoPoint,
    PickAnswer,
    PickBaseline,
    PickRow,
)
from optimizer.confirmation.choice import select_trade_offs
from optimizer.evaluation.evaluation import (
    Evaluation,
    MeasuredConfiguration,
    measured,
    within_limits,
)
from optimizer.objective.objective import (
    Metrics,
    Objective,
    Term,
    limit_words,
    pareto_front,
    parse_limit,
    require_measured,
    require_possible,
    unmeasured_words,
)
from optimizer.objective.objective_file import (
    SHIPPED,
    load_objective,
    objective_document,
    objective_from_document,
    parse_weights,
    weights_words,
)
from optimizer.surrogate.predictions import Prediction, predictions_of
from optimizer.trials.problem import Problem
from optimizer.trials.trial import History, Trial
from sampler.common.errors import InputError
from sampler.workload.metric_table import MACHINE, Direction

EXPLORED = "explored, not proven"
_THROUGHPUT = "rate"


def preferred(own: Objective, preference: PickRequest) -> Objective:
    """The objective that a preference asks for; the fields of errors are those of the interface.

    The limits of the job hold as well, unless another objective is named. An InputError if weights
    or a limit are none, or limits contradict each other.
    """
    base, weights = own, preference.weights
    if preference.objective is not None:
        base = _objective(preference.objective)
        if weights is not None:
            raise InputError("weights", "give either weights or an objective")
    elif weights is None and preference.slo:
        weights = _THROUGHPUT
    if weights is not None:
        known = {term.metric: term.direction for term in own.terms}
        terms = parse_weights(weights, known, field="weights")
        base = replace(base, name=weights_words(terms), terms=terms, help="a preference")
    added = [parse_limit(text, field="limit") for text in preference.limit or ()]
    added += [parse_limit(text, field="slo") for text in preference.slo or ()]
    limits = (*base.limits, *added)
    require_possible(limits, field="limit" if preference.limit else "slo")
    return replace(base, limits=limits)


def _objective(given: str) -> Objective:
    if not given.lstrip().startswith("{"):
        if given not in SHIPPED:
            problem = f"{given!r:.80} is neither a JSON object nor one of {', '.join(SHIPPED)}"
            raise InputError("objective", problem)
        return load_objective(given)
    try:
        document = from_json(given, allow_inf_nan=False)
    except ValueError:
        raise InputError("objective", "is neither a name nor JSON") from None
    return objective_from_document(document)


def pick_of_job(
    job_id: int,
    framed: ResolvedJob,
    trials: Sequence[Trial],
    preference: PickRequest,
    *,
    proven: int | None = None,
) -> PickAnswer:
    """The few best of a job's trials by a preference, with their metrics against the baseline.

    ``proven`` is the trial that the job has proven better by its own objective, if any.

    Raises:
        InputError: The preference is none, or is for what was not measured.
        ValueError: No run of the baseline has ended well.
    """
    objective = preferred(framed.problem.objective, preference)
    history = History(trials)
    baseline = Evaluation(framed.problem, history).baseline
    try:
        require_measured(objective, baseline.metrics)
    except InputError as error:
        field = "objective" if preference.weights is None else "weights"
        if error.field == "limit":
            field = "limit" if preference.limit or not preference.slo else "slo"
        raise InputError(field, error.problem) from None
    found = select_trade_offs(Evaluation(framed.problem, history), objective, count=preference.top)
    asked = [each.first.number for each in found.best] if preference.model else []
    said: Mapping[int, Prediction] = {}
    if asked:
        about_to_fit()
        said = fitted(predictions_of, Evaluation(framed.problem, history), objective, asked)
    level = baseline.metrics
    best = found.best[0] if found.best else None
    # A file is worth it if it is better than the baseline, or keeps what the baseline breaks.
    if best and best.fitness <= 0 and objective.admissible(level, level):
        best = None
    plan, options = framed.plan, None
    if (family := preference.column_family) is not None:  # an InputError without such a family
        asked_in = framed.specification.model_copy(update={"column_family": family})
        plan = resolve(asked_in, None).plan
    if best is not None:
        configuration = best.first.configuration
        comments = _comments(job_id, framed, best, objective, level)
        own, written = framed.plan.baseline_file.family, plan.baseline_file.family
        if own != written:
            comments.append(f"Measured for the column family {own}, written into {written}")
        options = export_options(plan, None, configuration, comments)
    return PickAnswer(
        standing=EXPLORED,
        objective=objective_document(objective),
        limits=[limit_words(limit) for limit in objective.limits],
        judged=found.judged,
        keeping=found.keeping,
        baseline=PickBaseline(
            metrics=dict(level),
            configuration=dict(framed.problem.space.default_configuration()),
        ),
        picks=[
            _row(objective, level, each, said.get(each.first.number), proven)
            for each in found.best
        ],
        options=options,
        difference=difference_of(framed.specification.baseline_options, options),
    )


def _row(
    objective: Objective,
    baseline: Metrics,
    picked: MeasuredConfiguration,
    opinion: Prediction | None,
    proven: int | None,
) -> PickRow:
    number = picked.first.number
    return PickRow(
        trial=number,
        runs=picked.runs,
        fitness=picked.fitness,
        terms=objective.gains(picked.metrics, baseline),
        metrics=dict(picked.metrics),
        change=_changes(picked.metrics, baseline),
        configuration=dict(picked.first.configuration),
        model=None if opinion is None else ModelOpinion(**asdict(opinion)),
        proven_by_job=number == proven,
    )


def _changes(
    metrics: Mapping[str, float], baseline: Mapping[str, float]
) -> dict[str, float | None]:
    """Signed changes in percent; None where the baseline's figure is 0."""
    return {
        name: 100 * (value - baseline[name]) / abs(baseline[name]) if baseline[name] else None
        for name, value in metrics.items()
        if name in baseline and name not in MACHINE
    }


def _comments(
    job_id: int,
    framed: ResolvedJob,
    picked: MeasuredConfiguration,
    objective: Objective,
    baseline: Mapping[str, float],
) -> list[str]:
    workload, changes = framed.problem.workload, _changes(picked.metrics, baseline)
    shown = ", ".join(
        f"{name} {change:+.1f}%"
        for name in objective.metrics
        if (change := changes.get(name)) is not None
    )
    runs = "a single run" if picked.runs == 1 else f"the means of {picked.runs} runs"
    return [
        f"Picked by Rocktune: trial {picked.first.number} of job {job_id}, "
        f"workload {workload.name}",
        f"{EXPLORED.capitalize()}: {runs}, the best of many by a preference that was set after "
        "the runs; measure it against your current options",
        f"Preference: {weights_words(objective.terms)}; fitness {picked.fitness:.0f}",
        *(f"Limit {limit_words(limit)}" for limit in objective.limits),
        f"Against the baseline: {shown}",
        *about_configuration(framed.problem, picked.first.configuration),
    ]


def front_of_two(problem: Problem, trials: Sequence[Trial], x: str, y: str) -> ParetoFront:
    """The front of a job's new configurations in two metrics, clocks corrected for drift.

    Points are ordered, the best in the second metric last, each with these two metrics. Which way
    is better comes from the objective, then from the unit. What breaks the job's limits does not
    count.

    Raises:
        InputError: A metric was not measured, or nobody knows which way it is better.
        ValueError: No run of the baseline has ended well.
    """
    baseline = Evaluation(problem, History(trials)).baseline
    directions = {term.metric: term.direction for term in problem.objective.terms}
    first, last = (
        _term(metric, field, directions, baseline.metrics)
        for metric, field in ((x, "x"), (y, "y"))
    )
    if first.metric == last.metric:
        raise InputError("y", "is the same metric as x; name another")
    points = within_limits(problem.objective, baseline.metrics, measured(baseline, trials))
    both = {n: m for n, m in points.items() if first.metric in m and last.metric in m}
    on = pareto_front(both, (first, last))
    on.sort(key=lambda n: both[n][last.metric] * (1 if last.direction == "max" else -1))
    names = [first.metric, last.metric]
    configurations = {trial.number: trial.configuration for trial in trials}
    return ParetoFront(
        metrics=names,
        baseline={name: baseline.metrics[name] for name in names},
        points=[
            ParetoPoint(
                number=number,
                metrics={name: both[number][name] for name in names},
                configuration=dict(configurations[number]),
            )
            for number in on
        ],
        hypervolume=[],
    )


def _term(metric: str, field: str, directions: Mapping[str, Direction], known: Metrics) -> Term:
    if metric not in known:
        raise InputError(field, unmeasured_words(metric, known))
    (term,) = parse_weights(metric, directions, field=field)
    return term
