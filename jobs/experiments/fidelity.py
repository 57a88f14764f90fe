"""Fidelity: the load of a profile, run under the database's own options, beside the database."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from jobs.execution.assembly import single_bench
from jobs.experiments.experiment import Experiment, Findings
from jobs.experiments.interleaved import MeasuredRun, RunsObserver
from sampler.bench.db_bench import DbBench
from sampler.common.errors import InputError
from sampler.options.option_facts import usual_number
from sampler.options.options_file import CF, OptionsFile
from sampler.profile.database_figures import READS
from sampler.profile.profile import DatabaseProfile, FamilyProfile
from sampler.profile.reading import read_profile
from sampler.runner.outcome import Outcome, TrialState
from sampler.runner.process import EndedProcess
from sampler.runner.settings import Settings
from sampler.space.space import Configuration
from sampler.workload.workload import Workload

Verdict = Literal["fits", "differs", "unknown"]
WAF_WITHIN = 0.15  # of production's
_LEVELS_WITHIN = 1.0
_USED = 0.01  # of a family's bytes: a level with less is not one that the tree uses
_FILES = ("LOG", "OPTIONS")


@dataclass(frozen=True)
class FidelityRow:
    """A figure of the database beside that of the load."""

    what: str
    database: float | None
    load: float | None
    verdict: Verdict
    advice: str = ""  # what to change in the workload file, or how to learn the figure


@dataclass(frozen=True)
class Fidelity:
    """Whether a load behaves like the database."""

    rows: tuple[FidelityRow, ...]
    seconds: float  # of the run

    @property
    def fits(self) -> bool:
        """Whether write amplification and the shape of the tree do, as far as both are told."""
        return not any(row.verdict == "differs" for row in self.rows if row.what in _DECIDE)

    @property
    def verdict(self) -> str:
        """A line for the whole."""
        told = [row for row in self.rows if row.what in _DECIDE and row.verdict != "unknown"]
        if not told:
            return "Nothing in the input tells write amplification or the tree: not checked."
        off = [row.what for row in self.rows if row.verdict == "differs"]
        beside = f" What differs: {', '.join(off)}." if off else ""
        if self.fits:
            return f"The load behaves like the database where it counts.{beside}"
        return f"The load does not behave like the database.{beside}"

    def document(self) -> dict[str, Any]:
        """The check as JSON."""
        return {
            "fits": self.fits,
            "verdict": self.verdict,
            "rows": [asdict(row) for row in self.rows],
        }


_WAF, _DEPTH, _CENTRE = "write amplification", "deepest level used", "mean level of a byte"
_DECIDE = (_WAF, _DEPTH, _CENTRE)


@dataclass(frozen=True)
class _KeepsLog(DbBench):
    """A benchmark whose LOG and OPTIONS outlive the trial."""

    kept: Path = Path()

    def harvest(
        self, configuration: Configuration, folder: Path, ended: EndedProcess, began: float
    ) -> Outcome:
        """See ``DbBench``."""
        for path in sorted((folder / "db").iterdir()):
            if path.name.startswith(_FILES):
                shutil.copy(path, self.kept)
        return super().harvest(configuration, folder, ended, began)


def fidelity_check(
    profile: DatabaseProfile,
    family: FamilyProfile,
    load: Workload,
    settings: Settings,
    *,
    options: str | None,
    db_bench: str | None = None,
) -> Experiment[Findings]:
    """One run of a load, whose signature is laid beside that of the family.

    Where the database was not at rest when its LOG was read, the load is not waited for either:
    what is still to be compacted is in neither write amplification.

    ``options`` is the text of the database's OPTIONS file; None: RocksDB's defaults.

    Raises:
        InputError: The load cannot be run here. So does its run that does not end well: the
            message has db_bench's words.
    """
    if not load.by_db_bench:
        raise InputError("--check", "runs loads of db_bench alone")
    family_name = family.name if options else None  # one is of an OPTIONS file
    bench = single_bench(
        load, settings, options=options, column_family=family_name, drop_unknown=True,
        scale=None, db_bench=db_bench, configuration={},
    ).benchmark  # fmt: skip
    assert isinstance(bench, DbBench)
    return Experiment(
        identity={"load": load.name},
        runs=1,
        measure=lambda _, told: Findings(
            document=_measured(profile, family, load, bench, settings, told).document()
        ),
    )


def _measured(
    profile: DatabaseProfile,
    family: FamilyProfile,
    load: Workload,
    bench: DbBench,
    settings: Settings,
    observer: RunsObserver,
) -> Fidelity:
    observer.starts(load.name, "load", 1)
    with tempfile.TemporaryDirectory(prefix="rocktune-check-") as folder:
        kept, plan = Path(folder), bench.plan
        if _busy(family, plan.baseline_file):
            plan = replace(plan, workload=replace(load, settle="none"))
        benchmark = _KeepsLog(bench.installed, plan, kept=kept)
        outcome = observer.run(benchmark, {}, settings)
        if outcome.state is not TrialState.DONE:
            raise InputError("--check", f"the load did not end well: {outcome.failure}")
        measured = read_profile(kept)
    observer.ended(
        MeasuredRun(
            round=1, case=load.name, side="load", started_at="", state=outcome.state.value,
            failure=None, metrics=dict(outcome.metrics), seconds=outcome.bench_seconds,
        )
    )  # fmt: skip
    family_measured, waf = measured.families[0], outcome.metrics.get("waf")
    # Reads are those that db_bench printed: a short run ends before its LOG tells of any.
    reads = {name: float(outcome.counters.get(ticker, 0)) for name, ticker in READS.items()}
    operations = {**family_measured.operations, **reads}
    family_measured = replace(family_measured, operations=operations)
    rows = compared(profile, family, measured, family_measured, waf, load.scale)
    return Fidelity(tuple(rows), outcome.bench_seconds)


def compared(
    profile: DatabaseProfile,
    family: FamilyProfile,
    measured: DatabaseProfile,
    load: FamilyProfile,
    waf: float | None,
    scale: int,
) -> Iterator[FidelityRow]:
    """All figures, those that decide first.

    ``measured`` and ``load`` are the profile of the run and of its family; ``waf`` is the write
    amplification of the run.
    """
    yield _within(
        _WAF, family.waf, waf, WAF_WITHIN,
        "num or writes (more overwrites, less to write), compression_ratio or value_size",
    )  # fmt: skip
    yield _apart(
        _DEPTH,
        _depth(family),
        _depth(load),
        _LEVELS_WITHIN,
        "scale: smaller for a deeper tree, larger for a shallower one",
    )
    advice = "num, or [prepare]: keys already there"
    yield _apart(_CENTRE, _centre(family), _centre(load), _LEVELS_WITHIN, advice)
    by_level = {each.level: each.write_amplification for each in load.levels}
    for level in family.levels:
        if level.write_amplification and by_level.get(level.level) is not None:
            name = f"write amplification of level {level.level}"
            yield _within(name, level.write_amplification, by_level[level.level], 0.3, "num")
    yield _within(
        "bytes on disk of an entry", _of_entry(family), _of_entry(load), 0.1,
        "value_size and compression_ratio",
    )  # fmt: skip
    size = None if load.table_bytes is None else load.table_bytes * scale
    yield _within("bytes of a table", family.table_bytes, size, 0.5, "scale")
    yield _within("keys of a write", profile.batch_size, measured.batch_size, 0.1, "batch_size")
    yield _apart(
        "share of entries that compactions drop", _dropped(family), _dropped(load), 0.1, "num"
    )
    yield _apart("overwrites of puts", family.overwrite_share, load.overwrite_share, 0.1, "num")
    for name in ("put", "get", "delete", "merge", "seek"):
        share, load_share = _share(family, name), _share(load, name)
        if share or load_share:
            advice = "reads, writes and deletes of [flags]"
            yield _apart(f"{name}s of all operations", share, load_share, 0.05, advice)
    yield _apart("gets that find a key", family.hit_rate, load.hit_rate, 0.1, "num, or [prepare]")
    stalls, load_stalls = (
        None if each is None else each / 100
        for each in (profile.stall_percent, measured.stall_percent)
    )
    advice = "benchmark_write_rate_limit: the load writes as fast as it can"
    yield _apart("share of time in stalls", stalls, load_stalls, 0.1, advice)


def _busy(family: FamilyProfile, options: OptionsFile) -> bool:
    """Whether level 0 holds files that a compaction is due for."""
    name = "level0_file_num_compaction_trigger"
    text = options.get(CF, name) or ""
    due = int(text) if text.isdecimal() else usual_number(name)
    return any(level.level == 0 and level.files >= due for level in family.levels)


def _depth(family: FamilyProfile) -> float | None:
    """The number of the deepest level that holds more than a hundredth of the bytes."""
    total = sum(level.bytes for level in family.levels)
    used = [level.level for level in family.levels if level.bytes > _USED * total]
    return float(max(used)) if used else None


def _centre(family: FamilyProfile) -> float | None:
    """The mean level of a byte."""
    total = sum(level.bytes for level in family.levels)
    return sum(level.level * level.bytes for level in family.levels) / total if total else None


def _of_entry(family: FamilyProfile) -> float | None:
    if not family.table_bytes or not family.table_entries:
        return None
    return family.table_bytes / family.table_entries


def _dropped(family: FamilyProfile) -> float | None:
    if not family.keys_in or family.keys_dropped is None:
        return None
    return family.keys_dropped / family.keys_in


def _share(family: FamilyProfile, name: str) -> float | None:
    total = sum(family.operations.values())
    return family.operations[name] / total if total and name in family.operations else None


def _within(
    what: str, database: float | None, load: float | None, share: float, advice: str
) -> FidelityRow:
    """Fits where the two differ by less than a share of the database's figure."""

    def fits(one: float, other: float) -> bool:
        if not one or not other:
            return one == other
        return abs(math.log(other / one)) <= math.log1p(share)

    return _row(what, database, load, fits, advice)


def _apart(
    what: str, database: float | None, load: float | None, most: float, advice: str
) -> FidelityRow:
    """Fits where the two are no further apart than so much."""
    return _row(what, database, load, lambda one, other: abs(other - one) <= most, advice)


def _row(
    what: str,
    database: float | None,
    load: float | None,
    fits: Callable[[float, float], bool],
    advice: str,
) -> FidelityRow:
    if database is None or load is None:
        missing = "the database's input" if database is None else "the load's run"
        return FidelityRow(what, database, load, "unknown", f"{missing} does not tell it")
    if fits(database, load):
        return FidelityRow(what, database, load, "fits")
    return FidelityRow(what, database, load, "differs", f"change {advice}")
