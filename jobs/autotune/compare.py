"""The comparison of policies: run one after the other on this host, as a table and as files."""

import contextlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from jobs.autotune.request import AutotuneRequest, LoadShape
from jobs.autotune.run import AutotuneRun, measure_policy
from jobs.charts.curves import Curves, Span, TimeCurve, plot_files
from jobs.results.output_folder import write_files
from sampler.bench.bench_folder import remove_leftovers, require_space, trial_folder
from sampler.bench.host_lock import MARK, host_lock
from sampler.bench.settings import Settings

# What compaction writes before it removes what it read: as much again, and some.
_SPACE = 3
# The comparison's rows: name of the figure, words, unit. The thesis's figures 4.4 to 4.9 have
# most of them.
ROWS: tuple[tuple[str, str, str], ...] = (
    ("writes", "writes", ""),
    ("reached", "share of planned bytes", "%"),
    ("insertion_rate", "insertion rate", "MB/s"),
    ("compaction_rate", "flushes and compactions", "MB/s"),
    ("write_amplification", "write amplification", ""),
    ("settled_write_amplification", "write amplification after recovery", ""),
    ("space_amplification", "space amplification", ""),
    ("level0_files", "files in level 0", ""),
    ("read_rate", "random reads, filters", "MB/s"),
    ("read_rate_without_filters", "random reads, no filters", "MB/s"),
    ("recovery_seconds", "recovery time", "s"),
    ("recovery_bytes", "written during recovery", "MB"),
    ("stalled_share", "stalled", "%"),
    ("off_share", "compaction off", "%"),
    ("switched", "switched", "times"),
    ("switching_share", "time spent switching", "%"),
)
_FACTORS = {"MB/s": 1e-6, "MB": 1e-6, "%": 100.0}


def run_alone(
    asked: AutotuneRequest, settings: Settings, *, told: Callable[[str], None] = lambda _: None
) -> AutotuneRun:
    """Measures while nothing else measures on this host, or an InputError where it cannot.

    Within a trial, as the command of a ``[command]`` workload, the host is held already.
    """
    said = ""

    def wait(holder: str) -> None:
        nonlocal said
        if said != holder:
            said = holder
            told(f"waiting: {holder} is using this host")

    with contextlib.ExitStack() as held:
        if MARK not in os.environ:
            token = secrets.token_hex(8)
            held.enter_context(host_lock(settings.lock, token, waiting=wait, pause=time.sleep))
        remove_leftovers(settings.bench_dir)
        require_space(settings.bench_dir, int(asked.shape.planned_bytes * _SPACE) + 2**26)
        folder = held.enter_context(trial_folder(settings.bench_dir))
        return measure_policy(asked, folder, told=told)


def table(documents: Sequence[dict[str, Any]]) -> list[list[str]]:
    """The comparison: a row for each figure, its words first, then a cell for each run."""
    return [
        [f"{words}, {unit}" if unit else words,
         *(cell(document["figures"].get(name), unit) for document in documents)]
        for name, words, unit in ROWS
    ] + [
        [f"level {number}, MiB", *(_level(document, number) for document in documents)]
        for number in sorted({level["number"] for document in documents
                              for level in document["levels"] if level["files"]})
    ]  # fmt: skip


def cell(value: float | None, unit: str) -> str:
    """A figure with four digits at most, or n/a."""
    if value is None:
        return "n/a"
    shown = value * _FACTORS.get(unit, 1.0)
    return f"{shown:,.0f}" if abs(shown) >= 1000 else f"{shown:.3g}"


def _level(document: dict[str, Any], number: int) -> str:
    found = next((each for each in document["levels"] if each["number"] == number), None)
    return "n/a" if found is None else f"{found['mib']:,} ({found['files']:,} files)"


_STILL = 1e-6  # two points of the same moment make no rate
_SMOOTH = 4  # points that an interval spans


def run_plot(document: Mapping[str, Any]) -> Curves:
    """The plot of a run's document, in MB/s, as the thesis's figures 4.3, 4.5 and 4.7 are."""
    policy, figures = document["asked"]["policy"], document["figures"]
    shape, curve = LoadShape(**document["asked"]["shape"]), document["curve"]
    ats = [min(each[0], shape.seconds) for each in curve]
    planned = [(at, shape.rate(at) / 1e6) for at in ats]
    rate, stored = figures["insertion_rate"] / 1e6, figures["compaction_rate"] / 1e6
    return Curves(
        name=policy,
        title=f"{policy}: {rate:.3g} MB/s written, {stored:.3g} MB/s flushed and compacted",
        caption=f"Dashed: the target rate. Interval: over {_SMOOTH} points. Cumulative: since the "
        "start; compaction includes flushes."
        + (" Shaded: compaction was off." if document["off"] else ""),
        x_title="seconds",
        y_title="MB/s",
        curves=[
            TimeCurve("sine wave", planned, dashed=True),
            TimeCurve("interval writes", _rates(zip(curve, curve[_SMOOTH:], strict=False), 1)),
            TimeCurve("cumulative writes", _rates(product(curve[:1], curve), 1)),
            TimeCurve("cumulative compaction", _rates(product(curve[:1], curve), 2)),
        ],
        shaded=[Span(**span) for span in document["off"]],
    )


def _rates(
    pairs: Iterable[tuple[Sequence[float], Sequence[float]]], column: int
) -> list[tuple[float, float | None]]:
    """MB/s of a column from one point to another, at the later one."""
    return [
        (b[0], (b[column] - a[column]) / (b[0] - a[0]) / 1e6)
        for a, b in pairs
        if b[0] - a[0] > _STILL
    ]


def write_autotune_files(out: Path, documents: Sequence[Mapping[str, Any]]) -> list[Path]:
    """Writes ``autotune.json``, a page, coordinates and an SVG a run; paths, or an InputError."""
    plots = [run_plot(document) for document in documents]
    contents: dict[str, str | bytes] = {
        "autotune.json": json.dumps({"schema": 1, "runs": list(documents)}) + "\n",
        **plot_files("autotune.html", "Rocktune: compaction under a wave", plots),
    }
    return write_files(out, contents)
