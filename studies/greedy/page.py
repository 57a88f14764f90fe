"""The page of the comparison, made from its raw results alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from jobs.report.rows import TOP, contribution_rows
from jobs.views.pick import FrontOfTwo
from optimizer.explanation.compared import BASELINE, BlockComparison
from sampler.common.byte_size import format_bytes
from studies.greedy.cases import CONTRIBUTORS, CPU_FRONT, LATENCY_FRONT
from studies.greedy.figures import Figures
from studies.greedy.side_by_side import DOCUMENT, FOUND

_HOW = (
    "Each case is one job of `rocktune tune --strategy greedy --objective rate` over the space of "
    "their table, from their baseline, with the job's own proof. Then the baseline, the whole "
    "column that they found (block cache, memory maps and bytes_per_sync included) and what the "
    "job found are measured side by side, in rounds of an order drawn anew; changes are geometric "
    "means of the rounds' ratios with 95% intervals. What the method is, and how our load differs "
    "from theirs: [greedy](../explanation/greedy.md)."
)
_WHERE = (
    "Their figures are of 32 logical processors, a PM1725 and 253 GB beyond memory; ours of a "
    "load of 0.2 GB that the page cache holds. The levels cannot be compared, the increases "
    "hardly: what can is which way each setting goes here."
)
_MEMORY = (
    "Neither the document nor these spaces bound the memory, so what is compared above does not "
    "have the same. *May hold* is what write buffers and block cache may take at full scale; here "
    "they have a share of it, as the load has of theirs. *Peak* is the most that was held, a "
    "median over the rounds, at the scale of the load. Pages of mapped files count into it, and "
    "their columns map what they read (`mmap_read`)."
)
_ONE_PROCESS = (
    "One process makes the load and then the mixture. Rate and latencies are those of the mixture "
    "alone; CPU use is that of both and of what settles after them, over the time of all that. "
    "The faster a mixture, the more of its CPU use is that of the load."
)
_SUBJECTS = ((BASELINE, "baseline"), (DOCUMENT, "their column"), (FOUND, "found here"))


def write_page(out: Path, command: str, cases: Sequence[Figures]) -> str:
    """Writes the page; returns it.

    Args:
        out: The page's path.
        command: What repeats it.
        cases: Those that were measured, in the document's order.
    """
    parts = ["# Samsung's greedy tuning, repeated", _head(command, cases), _HOW, _WHERE]
    parts += ["## Operations per second", "\n".join(_rates(cases))]
    parts += ["## Memory", _MEMORY, "\n".join(_memory(cases))]
    parts += ["## What each parameter contributed"]
    for each in cases:
        parts += _contributed(each)
    parts += ["## Throughput against latency and CPU use", _ONE_PROCESS, _fronts_words()]
    for each in cases:
        parts += ["\n".join(_fronts(each))]
    text = "\n\n".join(parts) + "\n"
    out.write_text(text, encoding="utf-8")
    return text


def _head(command: str, cases: Sequence[Figures]) -> str:
    environment = cases[0].study.result["environment"]
    ended = [t.finished_at for each in cases for t in each.study.trials if t.finished_at]
    day = max(ended).date().isoformat() if ended else "?"
    return (
        f"`{command}`, {environment.get('cores', '?')} cores ({environment.get('cpu', '?')}), "
        f"RocksDB {environment.get('rocksdb', '?')}, {day}."
    )


def _rates(cases: Sequence[Figures]) -> Iterator[str]:
    yield (
        "| case | theirs: baseline | found | increase | ours: baseline | their column here "
        "| found by greedy here | the job's proof |"
    )
    yield "|---|--:|--:|--:|--:|--:|--:|---|"
    for each in cases:
        case = each.case
        verdict = each.study.result["verdict"]
        proof = "none" if verdict is None else ("proven" if verdict["confirmed"] else "not proven")
        yield (
            f"| {case.name} | {case.before} K | {case.after} K | {case.percent:+.1f}% "
            f"| {_thousands(each.rates.get('baseline', math.nan))} "
            f"| {_change(each.document)} | {_change(each.found)} | {proof} |"
        )


def _memory(cases: Sequence[Figures]) -> Iterator[str]:
    head = " | ".join(f"{said} may hold | peak" for _, said in _SUBJECTS)
    yield f"| case | {head} |"
    yield "|---|" + "--:|" * (2 * len(_SUBJECTS))
    for each in cases:
        cells = [_bytes(of.get(name)) for name, _ in _SUBJECTS for of in (each.memory, each.peaks)]
        yield f"| {each.case.name} | {' | '.join(cells)} |"


def _contributed(each: Figures) -> list[str]:
    found = each.study.result["contributions"]
    rows = contribution_rows(found, TOP)
    lines = [f"**{each.case.name}.** {found['why'][:1].upper()}{found['why'][1:]}."]
    if not rows:
        return [*lines, "No value was better than the baseline's."]
    table = ["| parameter | from | to | ops/s | share of the gain | theirs |"]
    table.append("|---|---|---|--:|--:|--:|")
    theirs = CONTRIBUTORS if each.case.name == "80-20-snappy" else {}
    for row in rows:
        said = f"{theirs[row.name]:.1f}%" if row.name in theirs else ""
        share = "" if row.share is None else f"{row.share:.1f}%"
        change = row.changes.get("rate", math.nan)
        table.append(
            f"| `{row.name}` | {row.before} | {row.after} | {change:+.1f}% | {share} | {said} |"
        )
    missing = [name for name in theirs if name not in {row.name for row in rows}]
    if missing:
        said = ", ".join(f"`{name}` {theirs[name]:.1f}%" for name in missing)
        lines.append(f"Among their six and not among ours: {said}.")
    return [lines[0], "\n".join(table), *lines[1:]]


def _fronts_words() -> str:
    (slow, late), (fast, soon) = LATENCY_FRONT
    (little, idle), (much, busy) = CPU_FRONT
    return (
        f"Theirs for 80/20 with Snappy: the front of latency runs from {slow} K operations per "
        f"second with a 99th percentile of {late} us to {fast} K with {soon} us, that of CPU use "
        f"from {idle}% with {little} K to {busy}% with {much} K. Ours, single runs of the job:"
    )


def _fronts(each: Figures) -> Iterator[str]:
    yield "| front | on it | from | to |"
    yield "|---|--:|---|---|"
    fronts = [*each.latency.values(), *([each.cpu] if each.cpu else [])]
    for front in fronts:
        first, *_, last = [*front.points.values()] * 2
        yield (
            f"| {each.case.name}: {front.terms[0].metric} and {front.terms[1].metric} "
            f"| {len(front.points)} of {front.judged} | {_point(front, first)} "
            f"| {_point(front, last)} |"
        )


def _point(front: FrontOfTwo, metrics: object) -> str:
    assert isinstance(metrics, dict)
    shown = {"rate": lambda v: _thousands(v) + " ops/s", "cpu_percent": lambda v: f"{v:.1f}% CPU"}
    return ", ".join(
        shown.get(t.metric, lambda v: f"{v:.0f} us")(metrics[t.metric]) for t in front.terms
    )


def _thousands(value: float) -> str:
    return "n/a" if math.isnan(value) else f"{value / 1000:.1f} K"


def _bytes(size: float | None) -> str:
    return "n/a" if size is None else format_bytes(size)


def _change(compared: BlockComparison | None) -> str:
    if compared is None or "rate" not in compared.changes:
        return "n/a"
    found = compared.changes["rate"]
    return f"{found.percent:+.1f}% [{found.low:+.1f}, {found.high:+.1f}], {compared.rounds} rounds"
