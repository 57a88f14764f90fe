"""A whole upgrade check: the same configurations on both builds, and what is said of them.

Its sentences claim no more than its runs carry.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jobs.experiments.experiment import Experiment, Findings, Sets
from jobs.experiments.option_drift import (
    DEFAULTS,
    KEPT,
    SIDES,
    Case,
    ChangedValue,
    Concern,
    OptionDrift,
    OwnFile,
    cases_of,
    option_drift,
    own_file,
)
from jobs.experiments.tables import (
    SIGNIFICANT,
    CaseChange,
    compare_cases,
    holm_of,
    pair_values,
)
from jobs.experiments.told import MetricChange
from jobs.specification.specification import Specification, specification_from_document
from optimizer.budget.power import LEAST_PAIRS, p_words
from optimizer.confirmation.paired_tests import Change, change
from optimizer.objective.objective_file import objective_from_document
from sampler.bench.builds import Build, build_facts, installed_build
from sampler.bench.installed import InstalledDbBench, short_digest
from sampler.bench.settings import Settings
from sampler.bench.user_options import user_options
from sampler.common.errors import InputError
from sampler.machine.machine import fingerprint, host_name
from sampler.rocksdb.forms import read_user_options
from sampler.workload.workload_file import workload_from_document

RESULT = "upgrade.json"


def upgrade_check(asked: Mapping[str, Any], _: object, settings: Settings) -> Experiment:
    """The runs of a check, and what is made of them.

    ``asked``: ``old`` and ``new``, the builds by name or path; a ``specification`` with the
    workload, the space of the draws, the seed, and the user's file as the baseline; ``pairs``, how
    often every case is run on either build, 0: nothing is measured; and ``configurations``, how
    many random draws there are beside the defaults and the user's file.

    Raises:
        InputError: Something is wrong with what is asked for, or with this machine; a build does
            not work, or the old one refuses the user's file.
    """
    specification = specification_from_document(asked["specification"])
    names, pairs, draws = (asked["old"], asked["new"]), asked["pairs"], asked["configurations"]
    require_sensible(specification, pairs)
    old, new = (
        installed_build(name, settings, field=field)
        for name, field in zip(names, ("OLD", "NEW"), strict=True)
    )
    was, now = (
        Build(name=name, program=str(found.program), facts=build_facts(found.program))
        for name, found in zip(names, (old, new), strict=True)
    )
    drift = option_drift(old, new)
    file, notes = _own_file(specification, old, new)
    cases = cases_of(specification, old, new, drift, file, draws=draws) if pairs else []
    by_name = {case.name: case for case in cases}
    terms = objective_from_document(specification.objective).terms
    what = {case.name: case.what for case in cases}

    def conclude(sets: Sets) -> Findings:
        changes = compare_cases(sets, SIDES[0], SIDES[1:], [*by_name], terms)
        why = causes(sets, changes[0]) if KEPT in by_name else {}
        document = {
            "schema": 1,
            "machine": fingerprint(settings.bench_dir),
            "old": was.document(),
            "new": now.document(),
            "workload": specification.workload,
            "seed": specification.seed,
            "pairs": pairs,
            "drift": asdict(drift),
            "options_file": _file_document(file),
            "cases": [_case_document(each, what[each.case]) for each in changes],
            "causes": {
                name: vars(each) | {"gone": each.gone.document()} for name, each in why.items()
            },
            "verdict": upgrade_sentences(changes, what, why, drift.changed, file),
            # a metric, a run that fails, or a file that is refused
            "worse": any(each.worse for each in changes) or (file is not None and not file.opens),
        }
        return Findings(document=document, name=RESULT)

    return Experiment(
        identity=_identity(specification, (was, now), cases, pairs),
        cases=[*by_name],
        sides=SIDES,
        bench=lambda name, side: by_name[name].on(side),
        rounds=pairs,
        seed=specification.seed,
        conclude=conclude,
        subjects=[
            f"old: {_build_words(was)}",
            f"new: {_build_words(now)}",
            *_difference_lines(drift),
            *(f"Your OPTIONS file: {note}" for note in notes),
        ],
    )


def _own_file(
    specification: Specification, old: InstalledDbBench, new: InstalledDbBench
) -> tuple[OwnFile | None, Sequence[str]]:
    """What the new build makes of the user's file, and what of it is not measured as it says."""
    text, family = specification.baseline_options, specification.column_family
    if text is None:
        return None, ()
    options = read_user_options(text, name="options", family=family)
    file = own_file(old, new, options, drop_unknown=specification.drop_unknown)
    own = user_options(text, old, name="options", family=family, drop_unknown=True)
    return file, own.notes


def require_sensible(specification: Specification, pairs: int) -> None:
    """Refuses, with an InputError, what cannot be checked so."""
    if not workload_from_document(specification.workload, stored=True).by_db_bench:
        raise InputError("workload", "does not run db_bench; name one that does")
    if 0 < pairs < LEAST_PAIRS:
        raise InputError("pairs", f"{pairs} are less than {LEAST_PAIRS}; 0 skips measuring")


def _identity(
    specification: Specification, builds: tuple[Build, Build], cases: Sequence[Case], pairs: int
) -> dict[str, Any]:
    """What the runs in a folder are runs of: all that must be the same to go on with them."""

    def known(build: Build) -> dict[str, Any]:
        return {"program": build.program, **(build.facts.document() if build.facts else {})}

    options, family = specification.baseline_options, specification.column_family
    return {
        "check": 1,
        "host": host_name(),
        "old": known(builds[0]),
        "new": known(builds[1]),
        "workload": specification.workload,
        "scale": specification.scale,
        "space": specification.space["name"],
        "options": hashlib.sha256(options.encode()).hexdigest() if options else None,
        **({"column_family": family} if family is not None else {}),
        "seed": specification.seed,
        "pairs": pairs,
        "cases": {case.name: dict(case.configuration) for case in cases},
    }


def _build_words(build: Build) -> str:
    facts = build.facts
    if facts is None:
        return f"{build.program}: {build.problem}"
    parts = [f"RocksDB {facts.version}", build.program, f"file {short_digest(facts.digest)}"]
    if facts.source:
        parts.append(f"source {short_digest(facts.source)}")
    if facts.compiled:
        parts.append(f"compiled {facts.compiled}")
    parts.append("assertions on" if facts.assertions else "without assertions")
    if not facts.optimised:
        parts.append("not optimised")
    return ", ".join(parts)


def _difference_lines(drift: OptionDrift) -> Iterator[str]:
    """What changed without a load."""
    for concern in Concern:
        changed = [each for each in drift.changed if each.concern is concern]
        if changed:
            yield f"Changed defaults, {concern.value}:"
            yield from (f"  {each.key}: {each.old} -> {each.new}" for each in changed)
    if not drift.changed:
        yield "No default changed."
    for title, names in (
        ("Options only of the new build", [each.key for each in drift.added]),
        ("Options only of the old build", [each.key for each in drift.removed]),
        ("db_bench flags only of the new build", drift.flags_added),
        ("db_bench flags only of the old build", drift.flags_removed),
    ):
        if names:
            more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
            yield f"{title} ({len(names)}): {', '.join(names[:_LISTED])}{more}"


def _file_document(file: OwnFile | None) -> dict[str, Any] | None:
    if file is None:
        return None
    return {
        "opens": file.opens,
        "said": file.accepted.said,
        "refused": [asdict(each) for each in file.accepted.refused],
        "changed": [asdict(each) for each in file.changed],
        "changed_by_old": [asdict(each) for each in file.changed_by_old],
        "ignored": list(file.ignored),
    }


def _case_document(each: CaseChange, what: str) -> dict[str, Any]:
    old, new = (each.failed[side] for side in SIDES)
    return {
        "case": each.case,
        "metrics": {name: metric.document() for name, metric in each.metrics.items()},
        "pairs": each.pairs,
        "failed_old": len(old),
        "failed_new": len(new),
        "failure": new[0].failure if new else None,
        "what": what,
        "worse": each.worse,
    }


_MOST_NAMED, _LISTED = 8, 12  # changed defaults in a sentence, options in a line


@dataclass(frozen=True, kw_only=True)
class Cause:
    """How much of a metric's change with the new defaults goes away with the old ones kept."""

    metric: str
    # The new build with its own defaults over the new build with the old ones, each over the old
    # build in the same round.
    gone: Change
    p_holm: float  # its p-value, corrected for all metrics that this was asked of

    @property
    def shown(self) -> bool:
        """Whether the changed defaults are shown to have a part in it."""
        return self.p_holm < SIGNIFICANT


def causes(sets: Sets, defaults: CaseChange) -> dict[str, Cause]:
    """Of each metric that changed with the defaults: is it shown that the defaults are the cause?

    By metric; empty where the old defaults were not measured on the new build. ``defaults``
    is what changed with the defaults as they come.
    """
    gone: dict[str, Change] = {}
    for metric, each in defaults.metrics.items():
        if not each.significant:
            continue
        theirs, kept = (pair_values(sets, name, *SIDES, metric) for name in (DEFAULTS, KEPT))
        ratios = [
            (kept[number][1] / kept[number][0], theirs[number][1] / theirs[number][0])
            for number in theirs
            if number in kept and min(*theirs[number], *kept[number]) > 0
        ]
        if len(ratios) >= LEAST_PAIRS:
            gone[metric] = change(ratios)
    return {
        metric: Cause(metric=metric, gone=each, p_holm=p)
        for (metric, each), p in zip(gone.items(), holm_of(gone.values()), strict=True)
    }


def upgrade_sentences(
    changes: Sequence[CaseChange],
    what: Mapping[str, str],
    found: Mapping[str, Cause],
    changed: Sequence[ChangedValue],
    file: OwnFile | None,
) -> list[str]:
    """The verdict, a sentence or two for each finding; never empty.

    Of every case, ``what`` it is in words, and the causes ``found`` of each metric that changed
    with the defaults; of the defaults that differ, and of the user's file, if there is one.
    """
    told = _of_file(file) if file else []
    by_name = {each.case: each for each in changes}
    for each in changes:
        told += _failures(each, what[each.case])
        for metric in each.metrics.values():
            if metric.significant:
                told.append(_significant(metric, what[each.case]))
                if each.case == DEFAULTS:
                    told += _cause(metric, by_name.get(KEPT), found.get(metric.metric), changed)
    if not changes:
        return [*told, "Nothing was measured."]
    if not any(m.significant for each in changes for m in each.metrics.values()):
        told.append(f"No metric changed significantly; {_could_have_shown(changes)}.")
    return told


def _significant(metric: MetricChange, what: str) -> str:
    kind = "worse" if metric.worse else "better"
    told = f"{metric.metric.upper()} {metric.change.in_words} with {what}"
    return f"{told}: {kind}, {p_words(metric.p_holm)}."


def _cause(
    metric: MetricChange,
    kept: CaseChange | None,
    found: Cause | None,
    changed: Sequence[ChangedValue],
) -> list[str]:
    if not changed:
        return ["No default changed, so the cause is the build itself."]
    mine = kept.metrics.get(metric.metric) if kept else None
    if mine is None or found is None:
        return ["The old defaults could not be measured on the new build: the cause is unknown."]
    rest = f"With the old defaults: {mine.change.in_words}"
    sure = f"{rest}, {p_words(mine.p_holm)}"
    same_way = (mine.change.percent > 0) == (metric.change.percent > 0)
    if found.shown:
        cause = "the changed defaults are the cause, as far as these pairs show"
        if not mine.significant:
            told = f"{rest}, not significant: {cause}"
        elif _small_beside(mine.change, metric.change):
            told = f"{sure}, but less than a tenth as much: {cause}"
        elif same_way:
            part = "the changed defaults are part of the cause, the build itself is another"
            told = f"{sure}: {part}"
        else:
            told = f"{sure}: the changed defaults reverse the change"
        return [f"{told}. Changed: {_named(changed)}."]
    if mine.significant and same_way:
        return [f"{sure}: the cause is the build itself, not its defaults."]
    return [f"{rest}: these pairs cannot separate the build from its defaults."]


def _small_beside(left: Change, whole: Change) -> bool:
    """Whether what is left is less than a tenth of the whole, to the ends of its interval.

    A metric that hardly scatters, as write amplification, is significant by a fraction of 1%.
    """
    return max(abs(left.low), abs(left.high)) < abs(whole.percent) / 10


def _named(changed: Sequence[ChangedValue]) -> str:
    """Those that move amplification first; where there are several, none is proven guilty."""
    shown = [str(each) for each in changed[:_MOST_NAMED]]
    more = f" and {len(changed) - len(shown)} more" if len(changed) > len(shown) else ""
    alone = "" if len(changed) == 1 else ", not measured one by one"
    known = sum(each.concern is not Concern.UNKNOWN for each in changed)
    hint = f" (the first {known} are known to matter)" if 0 < known < len(shown) else ""
    return ", ".join(shown) + more + hint + alone


def _failures(each: CaseChange, what: str) -> list[str]:
    of = f"of {each.pairs} runs with {what}"
    old, new = (each.failed[side] for side in SIDES)
    if new:
        also = f"the old build in {len(old)}" if old else "the old build never"
        told = f"The new build failed in {len(new)} {of}, {also}"
        return [f"{told}: {_one_line(new[0].failure)}."]
    return [f"The old build failed in {len(old)} {of}."] if old else []


def _of_file(file: OwnFile) -> list[str]:
    told = []
    accepted = file.accepted
    if accepted.part is None:
        told.append(f"The new build rejects your OPTIONS file: {_one_line(accepted.said)}.")
    elif accepted.refused:
        names = ", ".join(each.key for each in accepted.refused)
        told.append(
            f"The new build rejects your OPTIONS file because of {names}: remove them, or no "
            "database opens with it."
        )
    if file.changed:
        names = ", ".join(map(str, file.changed))
        told.append(f"The new build silently changes values of your OPTIONS file: {names}.")
    if file.changed_by_old:
        names = ", ".join(map(str, file.changed_by_old))
        told.append(
            "The old build changes values of your OPTIONS file that the new build takes as "
            f"written: {names}."
        )
    if file.ignored:
        names = ", ".join(file.ignored)
        told.append(f"The new build accepts but ignores options of your OPTIONS file: {names}.")
    if file.opens:
        same = file.compared and not (file.changed or file.changed_by_old or file.ignored)
        as_it_is = ", with the same values in effect" if same else ""
        told.append(f"The new build opens a database with your OPTIONS file{as_it_is}.")
    return told


def _could_have_shown(changes: Sequence[CaseChange]) -> str:
    worst: dict[str, float] = {}
    for each in changes:
        for name, metric in each.metrics.items():
            worst[name] = max(worst.get(name, 0.0), metric.smallest_change)
    if not worst:
        return "too few pairs succeeded to detect any change"
    shown = ", ".join(f"{name.upper()} {100 * value:.2g}%" for name, value in worst.items())
    return f"the minimum detectable change of each metric (80% power) is {shown}"


def _one_line(text: str | None) -> str:
    return " ".join((text or "no message").split()).rstrip(".")
