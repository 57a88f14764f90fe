"""What a user asks for: everything that a job needs, as one document."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from jobs.confirm_scale import require_larger
from jobs.limits_asked import limited
from jobs.measured_metrics import require_terms, usual_objective
from jobs.start_from import require_sizes, require_starts
from jobs.warm_start_text import WarmStart
from optimizer.budget import LEAST_TRIALS, divide
from optimizer.default_strategy import DEFAULT_STRATEGY
from optimizer.detect_text import MOST_DETECTED
from optimizer.detection import LEAST_TRIALS_TO_DETECT
from optimizer.objective import Limit, Objective
from optimizer.objective_file import (
    limit_document,
    load_objective,
    objective_document,
    objective_from_document,
)
from optimizer.problem import SearchSettings
from optimizer.strategies import find_strategy
from optimizer.strategy import Strategy
from sampler.builds import DEFAULT_BUILD, is_build_name
from sampler.documents import read_document
from sampler.errors import InputError, noting, refuse_noted
from sampler.options_file import parse_options
from sampler.space_file import SHIPPED, space_from_document, space_text
from sampler.workload import Workload
from sampler.workload_file import load_workload, workload_document, workload_from_document

DEFAULT_TRIALS = 96
MOST_TRIALS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Specification:
    """A job as it was asked for, with every file's content in it.

    Attributes:
        workload, space, objective: Documents as their TOML files would hold them.
        shipped_space: Whether the space came with Rocktune: then options that the installed
            RocksDB does not know are left out, where the user's own space is refused.
        baseline: ``library``, ``db_bench``, or None for the space's own.
        baseline_options: The text of the user's own OPTIONS file instead.
        trials, minutes: The budget; one of them is None.
        memory: Bytes; None: the baseline's.
        scale: The divisor of byte-sized options; None: the workload's.
        db_bench: The build that measures: a name that hosts know, or the path of a program of
            the machine that the job was made on; None: the one in use on the host.
        host_kind: The kind of hosts that the job is for; None: any.
        start_from: Where the search begins: each the ``name`` of a shipped point, or with
            ``options`` the text of an OPTIONS file. None: where the strategy usually does.
        warm_start: ``auto`` or the number of an earlier job whose trials are prior knowledge;
            what is taken of it is kept beside the job when it begins. None: nothing.
        confirm_scale: The scale at which the winner is chosen and proved, the load as many times
            larger; None: that of the search.
    """

    workload: Mapping[str, Any]
    space: Mapping[str, Any]
    objective: Mapping[str, Any]
    shipped_space: bool
    strategy: str
    baseline: str | None
    baseline_options: str | None
    trials: int | None
    minutes: float | None
    memory: int | None
    scale: int | None
    seed: int
    search: Mapping[str, Any]
    db_bench: str | None = None
    host_kind: str | None = None
    start_from: Sequence[Mapping[str, Any]] | None = None
    warm_start: WarmStart = None
    confirm_scale: int | None = None

    def document(self) -> dict[str, Any]:
        """The specification as JSON holds it."""
        return asdict(self)

    def digest(self) -> str:
        """The same for the same specification, whoever wrote it down.

        What is left at its default does not count, so that a setting that a later version adds
        does not part a job from those who come back to it.
        """
        usual = SearchSettings().document()
        search = {k: v for k, v in self.search.items() if k not in usual or v != usual[k]}
        asked = {k: v for k, v in self.document().items() if v is not None} | {"search": search}
        text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def specify(
    *,
    workload: str = "load-quick",
    space: str = "default",
    objective: str | None = None,
    limits: Sequence[Limit] = (),
    strategy: str = DEFAULT_STRATEGY,
    baseline: str | None = None,
    trials: int | None = None,
    minutes: float | None = None,
    memory: int | None = None,
    scale: int | None = None,
    seed: int = 1,
    search: SearchSettings | None = None,
    db_bench: str | None = None,
    host_kind: str | None = None,
    start_from: Sequence[Mapping[str, Any]] | None = None,
    warm_start: WarmStart = None,
    confirm_scale: int | None = None,
) -> Specification:
    """Reads all that is named and checks it.

    Args:
        workload: A catalogue name or a TOML file.
        space: The same.
        objective: The same; None for ``paper``, or ``reading`` for a load that only reads.
        limits: Added to those of the objective.
        strategy: A strategy's name.
        baseline: ``library``, ``db_bench`` or an OPTIONS file; None for the space's own.
        trials: Runs of the benchmark in all, at least 12; None with ``minutes``, or for
            the default.
        minutes: Time instead of trials.
        memory: Budget in bytes; None for the baseline's.
        scale: Overrides the workload's scale.
        seed: Everything random comes from it.
        search: How the search behaves; None for the defaults.
        db_bench: A build's name, or the path of a program; None for the host's own.
        host_kind: The kind of hosts that it is for; None for any.
        start_from: Where the search begins; None for where the strategy usually does.
        warm_start: ``auto``, or the number of an earlier job; None for none.
        confirm_scale: The scale of the confirmation, below that of the search; None: the same.

    Raises:
        InputError: Something is wrong; the message names it and the mend.
    """
    found: list[InputError] = []
    documents: dict[str, Mapping[str, Any]] = {"workload": {}, "space": {}, "objective": {}}
    usual = "paper"
    with noting(found):
        read = findable(load_workload(workload), Path(workload).parent)
        documents["workload"] = workload_document(read)
        usual = usual_objective(read)
    with noting(found):
        documents["space"] = read_document(space_text(space), field=f"--space {space}")
    with noting(found):
        documents["objective"] = objective_document(load_objective(objective or usual))
    name: str | None = None
    options: str | None = None
    with noting(found):
        name, options = _baseline(baseline)
    refuse_noted(found)
    return specification_of(
        workload=documents["workload"],
        space=documents["space"],
        objective=documents["objective"],
        limits=limits,
        shipped_space=space in SHIPPED,
        strategy=strategy,
        baseline=name,
        baseline_options=options,
        trials=trials,
        minutes=minutes,
        memory=memory,
        scale=scale,
        seed=seed,
        search=search,
        db_bench=_findable_program(db_bench),
        host_kind=host_kind,
        start_from=start_from,
        warm_start=warm_start,
        confirm_scale=confirm_scale,
    )


def specification_of(
    *,
    workload: Mapping[str, Any],
    space: Mapping[str, Any],
    objective: Mapping[str, Any],
    shipped_space: bool,
    limits: Sequence[Limit] = (),
    strategy: str = DEFAULT_STRATEGY,
    baseline: str | None = None,
    baseline_options: str | None = None,
    trials: int | None = None,
    minutes: float | None = None,
    memory: int | None = None,
    scale: int | None = None,
    seed: int = 1,
    search: SearchSettings | None = None,
    db_bench: str | None = None,
    host_kind: str | None = None,
    start_from: Sequence[Mapping[str, Any]] | None = None,
    warm_start: WarmStart = None,
    confirm_scale: int | None = None,
) -> Specification:
    """Checks all that is asked for, wherever the documents come from; no file is read.

    Args:
        workload: A document as its TOML file would hold it.
        space: The same.
        objective: The same.
        shipped_space: Whether the space came with Rocktune.
        limits: Added to those of the objective.
        strategy: A strategy's name.
        baseline: ``library`` or ``db_bench``; None for the space's own.
        baseline_options: The text of an OPTIONS file instead.
        trials: Runs of the benchmark in all, at least 12; None with ``minutes``, or for
            the default.
        minutes: Time instead of trials.
        memory: Budget in bytes; None for the baseline's.
        scale: Overrides the workload's scale.
        seed: Everything random comes from it.
        search: How the search behaves; None for the defaults.
        db_bench: A build's name, or the path of a program; None for the host's own.
        host_kind: The kind of hosts that it is for; None for any.
        start_from: Where the search begins; None for where the strategy usually does.
        warm_start: ``auto``, or the number of an earlier job; None for none.
        confirm_scale: The scale of the confirmation, below that of the search; None: the same.

    Raises:
        InputError: Something is wrong; the message names it and the mend.
        InputErrors: Several things are.
    """
    found: list[InputError] = []
    if trials is not None and minutes is not None:
        found.append(InputError("--minutes", "give --trials or --minutes, not both"))
    if trials is None and minutes is None:
        trials = DEFAULT_TRIALS
    if trials is not None and trials < LEAST_TRIALS:
        problem = f"{trials} are too few; a job needs at least {LEAST_TRIALS}"
        found.append(InputError("--trials", problem))
    if trials is not None and trials > MOST_TRIALS:
        found.append(InputError("--trials", f"{trials} are too many; {MOST_TRIALS} are the most"))
    if minutes is not None and not 0 < minutes < 1e6:
        found.append(InputError("--minutes", f"{minutes:g} is not a time; write for example 10"))
    if scale is not None and not 1 <= scale < 2**31:
        problem = f"{scale} is not from 1 to 2147483647; 1 measures at full scale"
        found.append(InputError("--scale", problem))
    if not 0 <= seed < 2**31:
        found.append(InputError("--seed", f"{seed} is not between 0 and 2147483647"))
    search = search or SearchSettings()
    if search.cutoff and not 1 <= search.cutoff < 1e6:
        problem = f"{search.cutoff:g} is neither 0 nor at least 1; 4 is usual"
        found.append(InputError("--cutoff", problem))
    with noting(found):
        _require_heeded(search, find_strategy(strategy), strategy)
        _require_learning(warm_start, find_strategy(strategy), strategy)
    if start_from is not None:
        with noting(found):
            start_from = require_starts(start_from)
    if search.samples is not None and trials is not None and trials >= LEAST_TRIALS:
        explore = divide(trials).explore
        if search.samples >= explore:
            problem = f"{search.samples} draws leave nothing to search of {explore} configurations"
            found.append(InputError("--samples", f"{problem}; write at most {explore - 1}"))
    load: Workload | None = None
    with noting(found):
        load = workload_from_document(workload)
    with noting(found):
        space_from_document(space)
    goal: Objective | None = None
    with noting(found):
        goal = objective_from_document(objective)
        _require_detectable(search, goal, trials)
    if load is not None and start_from is not None:
        with noting(found):
            require_sizes(start_from, load)
    if load is not None and goal is not None:
        with noting(found):
            require_terms(goal, load)
            whole = limited(goal, limits, load)
            if limits:
                rows = [limit_document(limit) for limit in whole.limits]
                objective = {**objective, "limit": rows}
    if baseline_options is not None:
        with noting(found):
            parse_options(baseline_options, name="--baseline")
    with noting(found):
        _require_build(db_bench, workload)
    if host_kind is not None and not is_build_name(host_kind):
        problem = f"{host_kind!r} is no kind; write letters, digits, dots and dashes, 64 at most"
        found.append(InputError("--host-kind", problem))
    if load is not None:
        with noting(found):
            require_larger(confirm_scale, load, scale)
    refuse_noted(found)
    return Specification(
        workload=workload,
        space=space,
        objective=objective,
        shipped_space=shipped_space,
        strategy=strategy,
        baseline=baseline,
        baseline_options=baseline_options,
        trials=trials,
        minutes=minutes,
        memory=memory,
        scale=scale,
        seed=seed,
        search=search.document(),
        # The one in use has a name, too: the same job has the same digest either way.
        db_bench=None if db_bench == DEFAULT_BUILD else db_bench,
        host_kind=host_kind,
        start_from=start_from,
        warm_start=warm_start,
        confirm_scale=confirm_scale,
    )


def _require_build(db_bench: str | None, workload: Mapping[str, Any]) -> None:
    """Refuses what can be no build, and a build where nothing is measured by one.

    Raises:
        InputError: It is so.
    """
    if db_bench is None:
        return
    if "/" not in db_bench and not is_build_name(db_bench):
        raise InputError("--db-bench", f"{db_bench!r} is neither a build's name nor a path")
    if {"command", "external"} & workload.keys():
        raise InputError("--db-bench", "this workload is not measured by db_bench; leave it out")


def _findable_program(db_bench: str | None) -> str | None:
    """A path from the root, so that it leads to the same program from anywhere."""
    if db_bench is None or "/" not in db_bench:
        return db_bench
    return str(Path(db_bench).expanduser().absolute())


def _require_heeded(search: SearchSettings, strategy: Strategy, name: str) -> None:
    """Refuses settings that a strategy does not heed.

    Raises:
        InputError: One is given; the message names it.
    """
    usual = SearchSettings()
    for setting in ("samples", "top", "over", "generations", "fitness", "stop_early"):
        if setting not in strategy.heeds and getattr(search, setting) != getattr(usual, setting):
            field = f"--{setting.replace('_', '-')}"
            why = "only draws" if strategy.heeds == {"top"} else "does not heed it"
            raise InputError(field, f"the strategy {name} {why}; use genetic")


def _require_learning(warm_start: WarmStart, strategy: Strategy, name: str) -> None:
    """Refuses earlier jobs where nothing learns from them.

    Raises:
        InputError: It is so.
    """
    if warm_start is not None and "warm_start" not in strategy.heeds:
        problem = f"the strategy {name} learns nothing from earlier jobs; use forest, or leave it"
        raise InputError("--warm-start", problem)


def specification_from_document(document: Mapping[str, Any]) -> Specification:
    """Reads a stored specification back.

    Raises:
        InputError: It was written by another version that this one does not understand.
    """
    try:
        specification = Specification(**document)
        SearchSettings.of(specification.search)
    except TypeError as error:
        raise InputError("job", f"was written by another version of Rocktune: {error}") from None
    workload_from_document(specification.workload)
    space_from_document(specification.space)
    objective_from_document(specification.objective)
    return specification


def _require_detectable(search: SearchSettings, objective: Objective, trials: int | None) -> None:
    """Refuses a change that is none, a metric that does not decide, or too few trials for it."""
    if search.detect is None:
        return
    if not 0 < search.detect <= MOST_DETECTED:
        problem = f"{search.detect:g} is not a ratio above 0 and at most {MOST_DETECTED:g}"
        raise InputError("--detect", f"{problem}; write for example 5%")
    names = [term.metric for term in objective.terms]
    if search.detect_metric is not None and search.detect_metric not in names:
        problem = f"the objective {objective.name} has no metric {search.detect_metric!r}"
        raise InputError("--detect", f"{problem}; name one of {', '.join(names)}, or none")
    if trials is not None and trials < LEAST_TRIALS_TO_DETECT:
        problem = f"cannot be planned for in {trials} trials, as the noise must be measured first"
        raise InputError("--detect", f"{problem}; give --trials {LEAST_TRIALS_TO_DETECT} or more")


def _baseline(given: str | None) -> tuple[str | None, str | None]:
    if given is None or given in ("library", "db_bench"):
        return given, None
    try:
        text = Path(given).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError(
            "--baseline", f"{given!r} is neither library, db_bench nor an OPTIONS file to read"
        ) from None
    parse_options(text, name=f"--baseline {given}")
    return None, text


def findable(workload: Workload, beside: Path) -> Workload:
    """A workload whose own program is named so that it is found from anywhere.

    A relative path is meant from where the user stands, or else from beside the workload's file.
    """
    command = workload.command
    if command is None or "/" not in command.argv[0]:
        return workload
    here, near = Path(command.argv[0]), beside / command.argv[0]
    program = here if here.exists() or not near.exists() else near
    argv = (str(program.absolute()), *command.argv[1:])
    return replace(workload, command=replace(command, argv=argv))
