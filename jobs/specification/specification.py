"""A job as it was asked for: all that it needs as one document, checked as a whole.

Wherever its documents come from, no file is read here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, ValidationError

from db.schema.job_row import JobKind, JobRow
from jobs.specification.request import NONE, JobRequest, JobSettings, WarmStart, require_file
from jobs.specification.start_from import require_sizes, require_starts
from optimizer.budget.budget import LEAST_TRIALS, divide
from optimizer.budget.power import LEAST_TRIALS_TO_DETECT, MOST_DETECTED, parse_detect
from optimizer.objective.objective import Limit, Objective, parse_limit, require_possible
from optimizer.objective.objective_file import (
    limit_document,
    load_objective,
    objective_from_document,
)
from optimizer.trials.problem import FORMER_NAMES, SearchOptions, SearchSettings
from sampler.bench.builds import DEFAULT_BUILD, database_version, fitting_build, is_build_name
from sampler.bench.user_options import require_known_filter
from sampler.common.errors import InputError, noting, refuse_noted, value_problem
from sampler.common.text import parse_bytes
from sampler.machine.machine import cpu_threads
from sampler.rocksdb.forms import read_user_options
from sampler.space.space import Space
from sampler.space.space_file import space_from_document
from sampler.workload.metric_table import MACHINE, db_bench_metrics, measured_of
from sampler.workload.workload import Workload
from sampler.workload.workload_file import why_untold, workload_from_document

if TYPE_CHECKING:
    from optimizer.strategies.strategy import Strategy

DEFAULT_TRIALS = 96
MOST_TRIALS = 1_000_000
_OF_PREPARED = ("reading", "paper", "waf", "rate")
_LIMIT = "limits"
# What a clone keeps where null is asked for; null takes back whatever else was asked for.
_NULL_KEEPS = ("strategy", "baseline", "baseline_options", "drop_unknown", "scale", "seed")
_KEPT = {*JobSettings.model_fields, "baseline_options", "drop_unknown", "db_bench"}


class Specification(JobSettings):
    """A job as it was asked for, with every file's content in it; of two budgets one is None."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    workload: Mapping[str, Any]  # a document as its TOML file would hold it, as the next two are
    space: Mapping[str, Any]
    objective: Mapping[str, Any]
    # Whether the space came with Rocktune: then options that the installed RocksDB does not know
    # are left out, where the user's own space is refused.
    shipped_space: bool
    baseline_options: str | None = None  # the text of an OPTIONS file instead of `baseline`
    drop_unknown: bool = False
    memory: int | None = None  # bytes; None: the baseline's
    search: SearchSettings = SearchSettings()
    # The build that measures: a name that hosts know, or the path of a program of the machine that
    # the job was made on; None: the one in use on the host.
    db_bench: str | None = None
    # The RocksDB of the database that `db_bench` was chosen for, ``9.10.0``. None: the user named
    # the build, or nothing tells of a version.
    chosen_for: str | None = None
    # Where the search begins: each the `name` of a shipped point, or with `options` the text of an
    # OPTIONS file. None: where the strategy usually does.
    start_from: Sequence[Mapping[str, Any]] | None = None
    # The CPU threads that starting points are worked out for: those of where the job was made, so
    # that it begins alike wherever it goes on. None: it is of an earlier version.
    cores: int | None = None

    def document(self) -> dict[str, Any]:
        """The specification as JSON holds it."""
        return self.model_dump()

    def digest(self) -> str:
        """The same for the same specification, whoever wrote it down.

        What is left at its default does not count, so that a setting that a later version adds
        does not part a job from those who come back to it. Nor do the host's CPU threads. A
        strategy counts by its former name, so that jobs and nights from before go on.
        """
        former = {now: before for before, now in FORMER_NAMES.items()}
        usual = SearchSettings().model_dump()
        search = {k: v for k, v in self.search.model_dump().items() if v != usual[k]}
        said = {k: v for k, v in self.document().items() if v is not None and v is not False}
        said.pop("cores", None)
        if said.pop("chosen_for", None) is not None:
            said.pop("db_bench", None)
        if self.baseline_options is not None:  # once read without the ends of its lines
            said["baseline_options"] = self.baseline_options.replace("\r\n", "\n")
        said["strategy"] = former.get(self.strategy, self.strategy)
        asked = {**said, "shipped_space": self.shipped_space, "search": search}
        text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def on_fitting_build(
    specification: Specification,
    builds: Callable[[], Mapping[str, str]],
    database: str | None = None,
) -> Specification:
    """The specification with the build for the database that its OPTIONS file is of.

    ``builds`` gives the versions of the builds at hand by name, the one in use first;
    ``database`` is the version of the database where the file does not tell it. Only for a
    specification whose build nobody has named.
    """
    database = database_version(specification.baseline_options, database)
    workload = specification.workload
    if database is None or {"command", "external"} & workload.keys() or not (known := builds()):
        return specification
    build = fitting_build(database, known)
    return specification.model_copy(update={"db_bench": build, "chosen_for": database})


def on_build_of(specification: Specification, stored: Mapping[str, Any]) -> Specification:
    """The specification with the build of a stored one that it goes on with."""
    update = {name: stored.get(name) for name in ("db_bench", "chosen_for")}
    return specification.model_copy(update=update)


def specification_from_document(document: Mapping[str, Any]) -> Specification:
    """Reads a stored specification back; an InputError if this version cannot understand it."""
    try:
        specification = Specification.model_validate(document)
    except ValidationError as error:
        told = error.errors()
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {value_problem(e)}" for e in told)
        raise InputError("job", f"was written by another version of Rocktune: {wrong}") from None
    workload_from_document(specification.workload, stored=True)
    space_from_document(specification.space)
    objective_from_document(specification.objective)
    return specification


def require_tunes(row: JobRow, field: str) -> None:
    """Refuses, with an InputError, a job that is an experiment."""
    if row.kind is not JobKind.TUNE:
        raise InputError(field, f"job {row.id} is of kind {row.kind}; name a tuning job")


def asked_for(
    asked: JobRequest, draft: Specification, found: list[InputError]
) -> tuple[Specification, list[Limit]]:
    """A draft with all that a request asks for beside its documents; and the limits that it adds.

    What is not asked for stays as in the draft, which may be the job that is cloned. ``found``
    receives what is wrong.
    """
    given = {name: getattr(asked, name) for name in asked.model_fields_set}
    parts = {
        name: value
        for name, value in given.items()
        if name in _KEPT and (value is not None or name not in _NULL_KEEPS)
    }
    budget = ("trials", "minutes")
    if any(parts.get(name) is not None for name in budget):  # one kind replaces the other
        parts |= {name: given.get(name) for name in budget}
    else:
        parts = {name: value for name, value in parts.items() if name not in budget}
    if parts.get("warm_start") == NONE:
        parts["warm_start"] = None
    if {"baseline", "baseline_options"} <= parts.keys():
        found.append(InputError("baseline_options", "give either baseline or baseline_options"))
    elif "baseline" in parts:  # and no file that could have a family
        parts = {"column_family": None, "baseline_options": None} | parts
    elif "baseline_options" in parts:
        parts = {"baseline": None} | parts
    if asked.memory is not None:
        with noting(found):
            parts["memory"] = parse_bytes(str(asked.memory), field="memory")
    limits: list[Limit] = []
    for text in asked.limits or ():
        with noting(found):
            limits.append(parse_limit(text, field=_LIMIT))
    if "start_from" in given:
        parts["start_from"] = asked.start_from and [
            {"name": each} if isinstance(each, str) else each.model_dump()
            for each in asked.start_from
        ]
    parts["search"] = _search(given, draft.search, found)
    return draft.model_copy(update=parts), limits


def _search(
    given: Mapping[str, Any], before: SearchSettings, found: list[InputError]
) -> SearchSettings:
    """How the search behaves; null stands for what is usual."""
    search = before.model_dump()
    for name in SearchOptions.model_fields.keys() & given.keys():
        search.pop(name, None)
        search |= {} if given[name] is None else {name: given[name]}
    if "detect" in given:
        search |= {"detect": None, "detect_metric": None}
    if given.get("detect") is not None:
        with noting(found):
            change, metric = parse_detect(str(given["detect"]), field="detect")
            search |= {"detect": change, "detect_metric": metric}
    return SearchSettings.model_validate(search)


def checked(
    draft: Specification, limits: Sequence[Limit] = (), noted: Sequence[InputError] = ()
) -> Specification:
    """A specification whose fields were checked one by one, checked as a whole.

    Its documents may come from anywhere; it lacks those that could not be read. ``limits`` are
    added to those of the objective.

    Raises:
        InputError: All that is wrong, what was ``noted`` before first.
    """
    from optimizer.strategies.registry import find_strategy

    search, there = draft.search, draft.model_fields_set
    found = [*noted, *_wrong_budget(draft), *wrong_scale_or_seed(draft.scale, draft.seed)]
    trials = DEFAULT_TRIALS if draft.trials is draft.minutes is None else draft.trials
    starts = draft.start_from
    if search.cutoff and not 1 <= search.cutoff < 1e6:  # would end the baseline, or never anything
        problem = f"{search.cutoff:g} is neither 0 nor at least 1; 4 is the default"
        found.append(InputError("cutoff", problem))
    with noting(found):
        _require_used(search, draft.warm_start, find_strategy(draft.strategy), draft.strategy)
    if starts is not None:
        with noting(found):
            starts = require_starts(starts)
    if search.samples is not None and trials is not None and trials >= LEAST_TRIALS:
        explore = divide(trials).explore
        if search.samples >= explore:
            problem = f"{search.samples} samples of {explore} configurations leave none to search"
            found.append(InputError("samples", f"{problem}; write at most {explore - 1}"))
    load: Workload | None = None
    if "workload" in there:
        with noting(found):
            load = workload_from_document(draft.workload)
        with noting(found):
            _require_build(draft.db_bench, draft.workload)
    space: Space | None = None
    if "space" in there:
        with noting(found):
            space = space_from_document(draft.space)
    goal: Objective | None = None
    if "objective" in there:
        with noting(found):
            goal = objective_from_document(draft.objective)
            _require_detectable(search, goal, trials)
    if load is not None and starts is not None:
        with noting(found):
            require_sizes(starts, load)
    if load is not None and goal is not None:
        with noting(found):
            require_terms(goal, load)
            goal = _limited(goal, limits, load)
    with noting(found):
        require_file(draft.column_family, draft.baseline_options)
    if draft.baseline_options is not None:
        with noting(found):
            file = read_user_options(
                draft.baseline_options, name="baseline_options", family=draft.column_family
            )
            if space is not None and _searches(space, search, "bloom_bits"):
                require_known_filter(file, name="baseline_options")
    if draft.host_kind is not None and not is_build_name(draft.host_kind):
        problem = (
            f"{draft.host_kind!r} is not a kind; use at most 64 letters, digits, dots and dashes"
        )
        found.append(InputError("host_kind", problem))
    if load is not None:
        with noting(found):
            _require_larger(draft.confirm_scale, load, draft.scale)
    refuse_noted(found)
    objective = draft.objective
    if limits and goal is not None:
        objective = {**objective, "limit": [limit_document(limit) for limit in goal.limits]}
    # The build in use has a name, too: the same job has the same digest either way.
    build = None if draft.db_bench == DEFAULT_BUILD else draft.db_bench
    settled = {"trials": trials, "objective": objective, "start_from": starts, "db_bench": build}
    return Specification(**dict(draft) | settled | {"cores": draft.cores or cpu_threads()})


def _searches(space: Space, search: SearchSettings, name: str) -> bool:
    """Whether a parameter can get another value than the baseline's."""
    searched = search.over or [each for each in space.names if each not in space.unsearched]
    return name in space.fixed or name in searched


def _wrong_budget(asked: Specification) -> list[InputError]:
    trials, minutes = asked.trials, asked.minutes
    found: list[InputError] = []
    if trials is not None and minutes is not None:
        found.append(InputError("minutes", "give `trials` or `minutes`, not both"))
    if trials is not None and trials < LEAST_TRIALS:
        problem = f"{trials} are too few; a job needs at least {LEAST_TRIALS}"
        found.append(InputError("trials", problem))
    if trials is not None and trials > MOST_TRIALS:
        found.append(InputError("trials", f"{trials} are too many; the limit is {MOST_TRIALS}"))
    if minutes is not None and not 0 < minutes < 1e6:
        found.append(InputError("minutes", f"{minutes:g} is not a valid time; write such as 10"))
    return found


def wrong_scale_or_seed(scale: int | None, seed: int) -> list[InputError]:
    """What is wrong with the divisor of byte-sized options, and with the seed."""
    found: list[InputError] = []
    if scale is not None and not 1 <= scale < 2**31:
        problem = f"{scale} is not from 1 to 2147483647; 1 measures at full scale"
        found.append(InputError("scale", problem))
    if not 0 <= seed < 2**31:
        found.append(InputError("seed", f"{seed} is not between 0 and 2147483647"))
    return found


def _require_used(
    search: SearchSettings, warm_start: WarmStart, strategy: Strategy, name: str
) -> None:
    usual = SearchSettings()
    for setting in ("samples", "top", "over", "generations", "fitness", "stop_early"):
        is_set = getattr(search, setting) != getattr(usual, setting)
        if is_set and setting not in strategy.settings:
            why = "only samples" if strategy.settings == {"top"} else "ignores it"
            raise InputError(setting, f"the strategy {name} {why}; use genetic")
    if warm_start is not None and "warm_start" not in strategy.settings:
        problem = f"the strategy {name} cannot learn from earlier jobs; use guided, or omit this"
        raise InputError("warm_start", problem)


def _require_detectable(search: SearchSettings, objective: Objective, trials: int | None) -> None:
    if search.detect is None:
        return
    if not 0 < search.detect <= MOST_DETECTED:
        problem = f"{search.detect:g} is not a ratio above 0 and up to {MOST_DETECTED:g}"
        raise InputError("detect", f"{problem}; write for example 5%")
    names = [term.metric for term in objective.terms]
    if search.detect_metric is not None and search.detect_metric not in names:
        problem = f"the objective {objective.name} has no metric {search.detect_metric!r}"
        raise InputError("detect", f"{problem}; name one of {', '.join(names)}, or none")
    if trials is not None and trials < LEAST_TRIALS_TO_DETECT:
        problem = f"needs more than {trials} trials, because the noise must be measured first"
        raise InputError("detect", f"{problem}; give {LEAST_TRIALS_TO_DETECT} `trials` or more")


def _require_build(db_bench: str | None, workload: Mapping[str, Any]) -> None:
    if db_bench is None:
        return
    if "/" not in db_bench and not is_build_name(db_bench):
        raise InputError("db_bench", f"{db_bench!r} is neither the name of a build nor a path")
    if {"command", "external"} & workload.keys():
        raise InputError("db_bench", "this workload does not run db_bench; leave it out")


def _limited(objective: Objective, added: Sequence[Limit], workload: Workload) -> Objective:
    found: list[InputError] = []
    whole = (*objective.limits, *added)
    fields = [
        f"objective.limit[{number}].metric" for number in range(1, len(objective.limits) + 1)
    ]
    for limit, field in zip(whole, [*fields, *[_LIMIT] * len(added)], strict=True):
        with noting(found):
            _require_measured(limit.metric, workload, field)
    with noting(found):
        require_possible(whole, field=_LIMIT if added else "objective.limit")
    refuse_noted(found)
    return replace(objective, limits=whole)


def _require_measured(metric: str, workload: Workload, field: str) -> None:
    """Which metrics a benchmark of the user's own gives is seen in its first run."""
    _require_result(metric, field)
    if metric == "memory":
        # It follows from the configuration: a budget keeps every draw within it by construction.
        problem = "memory is a budget, not a limit; give for example 512MiB as `memory`"
        raise InputError(field, f"{problem}; the actual memory of the process is peak_rss")
    if workload.by_db_bench and metric not in (known := db_bench_metrics(workload)):
        names = ", ".join(name for name in known if name != "memory")
        problem = f"no measurement of the workload {workload.name} has {metric!r:.80}"
        raise InputError(field, f"{problem}; name one of {names}")


def _require_result(metric: str, field: str) -> None:
    if metric in MACHINE:
        problem = f"{metric} is a condition of a run, not a result; name another metric"
        raise InputError(field, problem)


def usual_objective(workload: Workload) -> str:
    """The name of the objective where none is asked for.

    ``reading`` for a load that is prepared and gives all that it asks for (so one that overwrites
    a prepared database, which has no latencies of reads, is not among them), else ``paper``; of a
    load that does not give all of that ``waf``, and where it writes nothing ``rate``.
    """
    given = db_bench_metrics(workload)
    usual = ("paper", "waf", "rate") if workload.prepare is None else _OF_PREPARED
    return next(
        name for name in usual if all(t.metric in given for t in load_objective(name).terms)
    )


def require_terms(objective: Objective, workload: Workload) -> None:
    """Refuses, with an InputError, metrics that the load cannot give; it names what there is."""
    untold = why_untold(workload)
    for term in objective.terms:
        _require_result(term.metric, "objective")
        needs = f"{objective.name} needs the metric {term.metric}"
        if workload.only_reads and term.metric in measured_of("writes"):
            raise InputError(
                "objective",
                f"{needs}, but the workload {workload.name} writes nothing while measured; "
                "choose the objective reading, or whole_waf, which includes the preparation",
            )
        if untold and term.metric == "sa":
            raise InputError(
                "objective",
                f"{needs}, which the workload {workload.name} does not provide: {untold}; "
                "choose an objective without it, such as waf",
            )


def _require_larger(confirm_scale: int | None, workload: Workload, scale: int | None) -> None:
    if confirm_scale is None:
        return
    field = "confirm_scale"
    if not workload.by_db_bench:
        raise InputError(field, "applies only to a load of db_bench; leave it out")
    if workload.trace:
        raise InputError(field, "a trace replays the same operations at any scale; leave it out")
    searched = workload.scale if scale is None else scale
    if not 1 <= confirm_scale < searched:
        fix = f"write one from 1 to {searched - 1}" if searched > 1 else "leave it out"
        problem = f"{confirm_scale} is not a larger scale than the search's, 1/{searched}"
        raise InputError(field, f"{problem}; {fix}")
