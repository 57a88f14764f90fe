"""Fidelity: the load of a profile, run under the database's own options, beside the database.

One run decides nothing: how much is compacted hangs on the pace of a run. The load is run again
until the 95% intervals of its mean figures lie within what fits or outside of it, for all figures
that decide, or until the most runs are done.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from jobs.execution.assembly import single_bench
from jobs.experiments.experiment import Experiment, Findings, MeasuredRun, Sets
from jobs.experiments.told import ComparedFigure, ProfileResult
from optimizer.confirmation.paired_tests import interval_of_mean
from sampler.bench.db_bench import DbBench
from sampler.bench.outcome import EndedProcess, Outcome, TrialState
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.profile.evidence import READS
from sampler.profile.profile import DatabaseProfile, FamilyProfile
from sampler.profile.reading import read_profile
from sampler.rocksdb.option_facts import usual_number
from sampler.rocksdb.option_values import whole_number
from sampler.rocksdb.options_file import CF, OptionsFile
from sampler.space.space import Configuration
from sampler.workload.workload import Workload

LEAST_RUNS, MOST_RUNS = 2, 5  # of the load; two have an interval
Figures = Mapping[str, float | None]  # by name; None where one is not told
_USED = 0.01  # of a family's bytes: a level with less is not one that the tree uses
_FILES = ("LOG", "OPTIONS")


_WAF, _DEPTH, _CENTRE = "write amplification", "deepest level used", "mean level of a byte"
_DECIDE = (_WAF, _DEPTH, _CENTRE)
_LEVEL, _OPERATION = "write amplification of level ", "s of all operations"
# By figure: how far apart the two may be, of a ratio less 1 where it is told, else as they are;
# and what to change in the workload file where they are farther apart.
_WITHIN: Mapping[str, tuple[float, str]] = {
    _WAF: (
        0.15,
        "num or writes (more overwrites write less), compression_ratio or value_size",
    ),
    _LEVEL: (0.3, "num"),
    "bytes per entry on disk": (0.1, "value_size and compression_ratio"),
    "bytes per table": (0.5, "scale"),
    "keys per write": (0.1, "batch_size"),
}
_APART: Mapping[str, tuple[float, str]] = {
    _DEPTH: (1.0, "scale: smaller for a deeper tree, larger for a shallower one"),
    _CENTRE: (1.0, "num, or [prepare]: keys already there"),
    "share of entries dropped by compactions": (0.1, "num"),
    "share of puts that overwrite": (0.1, "num"),
    _OPERATION: (0.05, "reads, writes and deletes in [flags]"),
    "share of gets that find a key": (0.1, "num, or [prepare]"),
    "share of time stalled": (
        0.1,
        "benchmark_write_rate_limit: without it, the load writes at full speed",
    ),
}


def profile_result(rows: list[ComparedFigure]) -> ProfileResult:
    """Whether a load behaves like its database, by all figures of both."""
    deciding = [row for row in rows if row.what in _DECIDE]
    told = [row for row in deciding if row.verdict != "unknown"]
    verdicts = {row.verdict for row in deciding}
    fits: bool | None = "differs" not in verdicts
    if fits and "cannot tell" in verdicts:
        fits = None
    off = [row.what for row in rows if row.verdict == "differs"]
    beside = f" Different: {', '.join(off)}." if off else ""
    if not told:
        verdict = "Not checked: the input has neither write amplification nor tree shape."
    elif fits is None:
        unsure = "; ".join(_open(row) for row in told if row.verdict == "cannot tell")
        verdict = f"The runs cannot tell whether the load matches the database: {unsure}.{beside}"
    else:
        ran = f"({max(row.runs for row in told)} runs)"
        compared = " and ".join(row.what for row in told)
        verdict = f"The load does not match the database {ran}.{beside}"
        if fits:
            verdict = f"The load matches the database in {compared} {ran}.{beside}"
    return ProfileResult(fits=fits, verdict=verdict, rows=rows)


@dataclass(frozen=True)
class _FiguresOfLoad(DbBench):
    """A benchmark whose metrics are the figures that a database is compared by."""

    def harvest(self, configuration: Configuration, folder: Path, ended: EndedProcess) -> Outcome:
        """See ``DbBench``."""
        outcome = super().harvest(configuration, folder, ended)
        if outcome.state is not TrialState.DONE:
            return outcome
        # Without its tables: a LOG and an OPTIONS file are what is read of the database, too.
        with tempfile.TemporaryDirectory(prefix="rocktune-check-") as kept:
            for path in sorted((folder / "db").iterdir()):
                if path.name.startswith(_FILES):
                    shutil.copy(path, kept)
            measured = read_profile(Path(kept))
        # Reads are those that db_bench printed: a short run ends before its LOG tells of any.
        reads = {name: float(outcome.counters.get(ticker, 0)) for name, ticker in READS.items()}
        mine = measured.families[0]
        operations = {**mine.operations, **reads}
        mine = replace(mine, operations=operations, waf=outcome.metrics.get("waf"))
        told = figures_of(measured, mine, self.plan.workload.scale).items()
        return replace(outcome, metrics={n: value for n, value in told if value is not None})


def fidelity_check(
    profile: DatabaseProfile,
    family: FamilyProfile,
    load: Workload,
    settings: Settings,
    *,
    options: str | None,
    db_bench: str | None = None,
) -> Experiment:
    """Runs of a load, whose signature is laid beside that of the family.

    Where the database was not at rest when its LOG was read, the load is not waited for either:
    what is still to be compacted is in neither write amplification.

    ``options`` is the text of the database's OPTIONS file; None: RocksDB's defaults.

    Raises:
        InputError: The load cannot be run here. So does its run that does not end well: the
            message has db_bench's words.
    """
    if not load.by_db_bench:
        raise InputError("check", "works only with loads of db_bench")
    family_name = family.name if options else None  # one is of an OPTIONS file
    single = single_bench(
        load, settings, options=options, column_family=family_name, drop_unknown=True,
        scale=None, db_bench=db_bench, configuration={}, database=profile.version,
    )  # fmt: skip
    bench = single.benchmark
    assert isinstance(bench, DbBench)

    plan = bench.plan
    if compaction_due(family, plan.baseline_file):
        plan = replace(plan, workload=replace(load, settle="none"))
    measured = _FiguresOfLoad(bench.installed, plan)
    figures = figures_of(profile, family, 1)

    def fidelity(runs: Sequence[MeasuredRun]) -> ProfileResult:
        return profile_result([*compared(figures, [run.metrics for run in runs])])

    def conclude(sets: Sets) -> Findings:
        found = fidelity([run for runs in sets.values() for run in runs.values()])
        return Findings(document=found.model_dump() | {"warnings": list(single.warnings)})

    return Experiment(
        identity={"load": load.name, "rocksdb": bench.installed.version, "database": figures},
        cases=[load.name],
        sides=["load"],
        bench=lambda _case, _side: (measured, {}),
        rounds=MOST_RUNS,
        seed=0,  # of one case on one side there is one order
        conclude=conclude,
        enough=lambda runs: len(runs) >= LEAST_RUNS and fidelity(runs).fits is not None,
        failure_field="check",
    )


def compared(figures: Figures, runs: Sequence[Figures]) -> Iterator[ComparedFigure]:
    """All figures of a database beside those of each run of its load, those that decide first."""
    for what, database in figures.items():
        kind = what
        mine = [value for run in runs if (value := run.get(what)) is not None]
        if what.startswith(_LEVEL):
            kind, there = _LEVEL, bool(database and mine)
        elif what.endswith(_OPERATION):
            kind, there = _OPERATION, bool(database or any(mine))
        else:
            there = True
        if there:
            yield _row(what, database, mine, kind)


def figures_of(whole: DatabaseProfile, family: FamilyProfile, scale: int) -> Figures:
    """What is compared, by name; None where it is not told."""
    levels, told = family.levels, family.operations
    held, done = sum(level.bytes for level in levels), sum(told.values())
    # The deepest level that holds more than a hundredth of the bytes.
    used = [level.level for level in levels if level.bytes > _USED * held]
    operations = ("put", "get", "delete", "merge", "seek")
    return {
        _WAF: family.waf,
        _DEPTH: float(max(used)) if used else None,
        _CENTRE: _ratio(sum(level.level * level.bytes for level in levels), held),
        **{f"{_LEVEL}{level.level}": level.write_amplification for level in levels},
        "bytes per entry on disk": _ratio(family.table_bytes or None, family.table_entries),
        "bytes per table": None if family.table_bytes is None else family.table_bytes * scale,
        "keys per write": whole.batch_size,
        "share of entries dropped by compactions": _ratio(family.keys_dropped, family.keys_in),
        "share of puts that overwrite": family.overwrite_share,
        **{f"{name}{_OPERATION}": _ratio(told.get(name), done) for name in operations},
        "share of gets that find a key": family.hit_rate,
        "share of time stalled": _ratio(whole.stall_percent, 100),
    }


def _ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _row(what: str, database: float | None, runs: Sequence[float], kind: str) -> ComparedFigure:
    if database is None or not runs:
        missing = "the database's input" if database is None else "the load's runs"
        load = float(np.mean(runs)) if runs else None
        return ComparedFigure(
            what=what,
            database=database,
            load=load,
            verdict="unknown",
            advice=f"not available from {missing}",
        )
    most, advice = (_APART if kind in _APART else _WITHIN)[kind]
    as_ratio = kind in _WITHIN and database > 0 and min(runs) > 0
    if kind in _WITHIN and not as_ratio:  # next to nothing on one side: the same, or not
        most = 0.0
    # Ratios are as far off where they are so many times less as where they are so many times more.
    middle = math.log(database) if as_ratio else database
    most = math.log1p(most) if as_ratio else most
    values = np.array([math.log(each) for each in runs] if as_ratio else runs)
    # The interval of one value has no end.
    mean, half = float(values[0]), math.inf
    if len(values) >= LEAST_RUNS:
        mean, half, _ = interval_of_mean(values)
    fits, differs = abs(mean - middle) + half <= most, abs(mean - middle) - half > most
    ends = (mean, mean - half, mean + half) if half else (runs[0],) * 3
    mean, low, high = (math.exp(each) if as_ratio and half else each for each in ends)
    known = math.isfinite(half)
    return ComparedFigure(
        what=what,
        database=database,
        load=mean,
        verdict="fits" if fits else "differs" if differs else "cannot tell",
        advice=f"change {advice}" if differs else "",
        low=low if known else None,
        high=high if known else None,
        runs=len(runs),
    )


def _open(row: ComparedFigure) -> str:
    between = "" if row.low is None else f" between {row.low:.4g} and {row.high:.4g}"
    return f"after {row.runs} runs {row.what} lies{between}, the database's is {row.database:.4g}"


def compaction_due(family: FamilyProfile, options: OptionsFile) -> bool:
    """Whether level 0 holds files that a compaction is due for.

    A negative trigger turns that off, and 0 acts as 1 (column_family.cc, SanitizeOptions).
    """
    name = "level0_file_num_compaction_trigger"
    given = whole_number(options.get(CF, name))
    due = usual_number(name) if given is None else max(given, 1)
    files = sum(level.files for level in family.levels if level.level == 0)
    return files >= due and (given is None or given >= 0)
