"""What a verdict says was paid: the same lines on the terminal, on pages and in OPTIONS.ini."""

from collections.abc import Mapping
from typing import Any

from jobs.results.figures import metric_amount
from sampler.workload.tree_reads import READS


def price_lines(result: Mapping[str, Any]) -> list[str]:
    """Lines on what was paid: losses over a fifth, memory, and why what was not measured."""
    verdict = result.get("verdict") or {}
    price = verdict.get("price") or {}  # a job of an earlier version has none
    lost, unread = price.get("losses", []), price.get("not_measured", {})
    lines = []
    if lost:
        rows = ", ".join(f"{row['name']} {_interval(row)}" for row in lost)
        lines.append(f"More than a fifth was paid: {rows}")
    changes, level = verdict.get("change", {}), (result.get("baseline") or {}).get("metrics", {})
    amounts = {
        name: f"{metric_amount(level[name], name)} -> {metric_amount(now, name)} "
        f"({_interval(changes[name])})"
        for name in ("memory", "peak_rss")
        if name in changes and (now := verdict["metrics"].get(name)) is not None
    }
    if len(amounts) == 2:
        lines.append(
            f"Memory, configured at full scale: {amounts['memory']}; real, the most of the "
            f"measured process: {amounts['peak_rss']}"
        )
    for why in dict.fromkeys(unread.values()):
        names = [name for name, said in unread.items() if said == why]
        which = "Reads of the tree" if len(names) == len(READS) else ", ".join(names)
        lines.append(f"{which} were not measured: {why}")
    return lines


def read_lines(result: Mapping[str, Any]) -> list[str]:
    """One line with the change of each kind of read; none where reads were not measured."""
    changes = (result.get("verdict") or {}).get("change", {})
    said = ", ".join(f"{name} {_interval(changes[name])}" for name in READS if name in changes)
    return [f"Reads of both trees, measured, not tuned: {said}"] if said else []


def _interval(change: Mapping[str, float]) -> str:
    low, high = change["low"], change["high"]
    interval = "" if low == high else f" [{low:+.1f}, {high:+.1f}]"
    return f"{change['percent']:+z.1f}%{interval}"
