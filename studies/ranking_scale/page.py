"""docs/results/ranking_scale.md, made from the raw rows alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from jobs.specification.resolved_job import resolve
from optimizer.objective.objective_file import load_objective
from sampler.common.byte_size import format_bytes
from sampler.parameters.parameter import Parameter
from studies.arguments import days_words
from studies.ranking_scale.configurations import STEPS
from studies.ranking_scale.effects import drawn_effects, step_effects
from studies.ranking_scale.measured import FITNESS, Measured, by_scale
from studies.ranking_scale.rows import Row
from studies.ranking_scale.scales import CODECS, SCALES, specification_at
from studies.ranking_scale.scatter import panels_of, scatter
from studies.ranking_scale.tables import (
    baseline_table,
    correlation_table,
    drawn_table,
    pairings,
    runs_table,
    steps_table,
    top_table,
)

_WHAT = (
    "Rocktune measures at a small scale: byte-sized options and the load are divided alike, so "
    "the tree keeps its shape. How well does the order of configurations hold at the full size? "
    "The same random configurations (a scrambled Sobol sequence over the space `default`, at the "
    f"default's memory, codecs {', '.join(CODECS)}) were measured at each scale with the "
    "product's own runner, the baseline among them. A run beyond the limit of its scale was cut "
    "off: it counts as the slowest in TIME, RATE and fitness, and not at all in WAF and SA."
)
_CORRELATION = (
    "Spearman's rank correlation over the configurations, with 95% intervals (bootstrap over "
    "configurations). 1 is the same order, 0 is none. *Again* is the same scale measured twice: "
    "what noise alone leaves of the order."
)
_TOP = (
    "How many of the five best at the smaller scale are among the five best at the larger one, "
    "and which place the very best takes there."
)
_STEPS = (
    "The baseline with one option moved: change in percent at {scales}. Bold: the first and the "
    "last differ by more than the noise of the baseline's runs explains (95%, each by itself: of "
    "{count} about {accidents:.0f} would by accident)."
)
_DRAWN = (
    "Over all draws: options whose value goes with the ratio of a metric at {large} to the same "
    "at {small} (Spearman; Holm's correction over all options of a metric). Positive: at the "
    "larger scale more of the option means more of the metric than at the smaller one."
)


def write_page(docs: Path, command: str, rows: Sequence[Row], remarks: str) -> str:
    """Writes the page and its plots; returns the page.

    Args:
        docs: The folder of the page.
        command: What repeats it.
        rows: All raw results.
        remarks: What a reader concludes, in words of our own; may be empty.
    """
    objective = load_objective("paper")
    scales = list(by_scale(rows, SCALES, objective).values())
    metrics = [term.metric for term in objective.terms]
    parts = [
        "# Does a ranking at a small scale hold at full size?",
        f"`{command}`; {_machine(rows)}. {_WHAT}",
        remarks,
        "## What was measured",
        runs_table(scales),
        "The baseline: medians, and in brackets the noise of a single run (standard deviation).",
        baseline_table(scales, metrics),
    ]
    columns = pairings(scales)
    if columns:
        parts += [
            "## How well the order holds", _CORRELATION, correlation_table(columns, metrics),
            *_plots(docs, scales, metrics), "## Are the best still the best?", _TOP,
            top_table(columns, objective), "## Which effects change with the scale",
            *_effects(scales, metrics),
        ]  # fmt: skip
    text = "\n\n".join(part for part in parts if part) + "\n"
    (docs / "results" / "ranking_scale.md").write_text(text, encoding="utf-8")
    return text


def _plots(docs: Path, scales: Sequence[Measured], metrics: Sequence[str]) -> list[str]:
    """A row of scatter plots for each pair of neighbouring scales, and for the ends."""
    pairs = list(pairwise(scales))
    pairs += [(scales[0], scales[-1])] if len(scales) > 2 else []
    shown = []
    for one, other in pairs:
        panels = panels_of(_ratios(one, metrics), _ratios(other, metrics))
        if not panels:
            continue
        names = one.scale.name, other.scale.name
        name = f"ranking_scale_{one.scale.divisor}_{other.scale.divisor}.svg"
        title = f"The same configurations at {names[0]} and at {names[1]}, whole runs"
        text = scatter(title, f"at {names[0]}", f"at {names[1]}", panels)
        (docs / "results" / name).write_text(text, encoding="utf-8")
        shown.append(f"![{title}]({name})")
    if shown:
        shown.append("Metrics over the baseline of their scale; grey: the same at both.")
    return shown


def _ratios(measured: Measured, metrics: Sequence[str]) -> Mapping[str, Mapping[int, float]]:
    draws = measured.of("draw", 0)
    found: dict[str, dict[int, float]] = {}
    for metric in (*metrics, FITNESS):
        ratios = {index: measured.ratio(row, metric) for index, row in draws.items()}
        found[metric] = {index: value for index, value in ratios.items() if value is not None}
    return found


def _effects(scales: Sequence[Measured], metrics: Sequence[str]) -> list[str]:
    parts = []
    effects = step_effects(scales, metrics)
    if effects:
        tested = [effect for effect in effects if effect.shift is not None]
        measured = [each for each in scales if each.of("step", 0)]
        names = " / ".join(each.scale.name for each in measured)
        words = _STEPS.format(scales=names, count=len(tested), accidents=0.05 * len(tested))
        parts += [words, steps_table(effects, measured)]
        untold = sorted({p.name for p in _parameters(scales)} - {name for name, _ in STEPS})
        parts.append(f"Not moved by itself: {', '.join(f'`{name}`' for name in untold)}.")
    else:
        parts.append("The steps, one option moved from the baseline, were not measured.")
    small = scales[0]
    for large in scales[1:]:
        parameters = _parameters(scales)
        drawn = [
            each for metric in metrics for each in drawn_effects(small, large, parameters, metric)
        ]
        if drawn:
            words = _DRAWN.format(small=small.scale.name, large=large.scale.name)
            parts += [words, drawn_table(drawn)]
    return parts


def _parameters(scales: Sequence[Measured]) -> Sequence[Parameter]:
    return resolve(specification_at(scales[0].scale), None).problem.space.parameters


def _machine(rows: Sequence[Row]) -> str:
    """Where and when, of the runs themselves."""
    hosts = {tuple(sorted(row.host.items())): row.host for row in rows}
    days = {row.ended[:10] for row in rows}
    said = [
        f"{host['cpu']}, {host['cores']} cores, {format_bytes(int(host['memory_bytes']))}, "
        f"{host['file_system']}, {host['system']}, RocksDB {host['rocksdb']}"
        for host in hosts.values()
    ]
    when = days_words(days)
    return f"{len(rows)} runs, {'; '.join(said)}; {when}"
