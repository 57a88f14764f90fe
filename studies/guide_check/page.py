"""docs/results/guide.md: what half and double change, beside what KIOXIA says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from optimizer.confirmation.paired_change import change, medians
from sampler.common.byte_size import format_bytes, format_decimal
from studies.arguments import days_words
from studies.guide_check.variants import AS_THERE, CALCULATED, DEFAULT

Rows = Sequence[Mapping[str, Any]]
METRICS = {"kioxia-t2": ("time", "rate", "waf", "sa", "write_p99"),
           "kioxia-t5": ("time", "rate", "waf", "sa", "read_p99")}  # fmt: skip
_SIZES = ("target_file_size_base", "write_buffer_size")
# What the guide tells of its own runs ("Test Results and Analysis"): run time against the
# calculated setting. Of Figure 2 the seconds are readable, of the others the words alone.
SAID = {
    ("kioxia-t2", "half max_background_jobs"): "run time -4.6% (3,565 s for 3,737 s)",
    ("kioxia-t2", "double max_background_jobs"): "run time +5.4% (3,937 s)",
    ("kioxia-t5", "half max_background_jobs"): "run time +38% (10,347 s for 7,477 s)",
    ("kioxia-t5", "double max_background_jobs"): "run time +9.8% (8,211 s)",
    ("kioxia-t2", "half max_write_buffer_number"): "a small gain",
    ("kioxia-t2", "double max_write_buffer_number"): "a small gain",
    ("kioxia-t5", "half max_write_buffer_number"): "much slower",
    ("kioxia-t5", "double max_write_buffer_number"): "much slower",
    ("kioxia-t2", "double target_file_size_base"): "about 7% faster",
    ("kioxia-t5", "half target_file_size_base"): "faster",
    ("kioxia-t5", "double target_file_size_base"): "slower",
    ("kioxia-t2", "half write_buffer_size"): "slower",
    ("kioxia-t2", "double write_buffer_size"): "slower",
    ("kioxia-t5", "half write_buffer_size"): "slower",
    ("kioxia-t5", "double write_buffer_size"): "slower",
}
_HEAD = """# KIOXIA's tuning guide: half, calculated, double

[KIOXIA's guide](../explanation/kioxia-guide.md) checks each of its settings by halving and
doubling it under its loads T2 and T5. The same here, with its translation for RocksDB with blob
files. Written by `studies/guide_check` from [guide.jsonl](guide.jsonl)."""
_READING = """Runs are interleaved, in an order drawn anew in each round. Changes are against
`calculated` in the same round: geometric means with 95% intervals; * where the interval does not
hold 0 (of so many intervals one in twenty does so by chance). Less is better, but of `rate`."""


def write_page(out: Path, command: str, rows: Rows) -> str:
    """Writes the page and returns it.

    Args:
        out: Its path.
        command: What made the runs.
        rows: All of them, at least one.
    """
    sections = [
        _section(workload, [row for row in rows if row["workload"] == workload])
        for workload in dict.fromkeys(row["workload"] for row in rows)
    ]
    parts = [_HEAD, _about(command, rows), _READING, *sections]
    text = "\n\n".join(parts) + "\n"
    out.write_text(text, encoding="utf-8")
    return text


def _about(command: str, rows: Rows) -> str:
    host = rows[-1]["host"]
    days = {str(row["ended"])[:10] for row in rows}
    when = days_words(days)
    failed = sum(row["state"] != "done" for row in rows)
    return (
        f"Command: `{command}`. {host['cpu']}, {host['cores']} cores, "
        f"{format_bytes(host['memory_bytes'])}, {host['file_system']}, {host['system']}, RocksDB "
        f"{host['rocksdb']}; {when}; {len(rows)} runs, of which {failed} did not end well."
    )


def _section(workload: str, rows: Rows) -> str:
    done = [row for row in rows if row["state"] == "done"]
    metrics = METRICS.get(workload, ("time", "rate", "waf", "sa"))
    by_variant = {row["variant"]: row for row in rows}
    names = [DEFAULT, CALCULATED, AS_THERE, *sorted(by_variant.keys() - _FIRST)]
    lines = [
        f"## {workload}",
        "",
        f"| settings | runs | {' | '.join(metrics)} | the guide's own |",
        f"|---|--:|{'--:|' * len(metrics)}---|",
    ]
    for name in (name for name in names if name in by_variant):
        own = {row["round"]: row["metrics"] for row in done if row["variant"] == name}
        base = {row["round"]: row["metrics"] for row in done if row["variant"] == CALCULATED}
        cells = [_cell(name, metric, own, base) for metric in metrics]
        label = f"{name}{_value(by_variant[name])}"
        said = SAID.get((workload, name), "")
        lines.append(f"| {label} | {len(own)} | {' | '.join(cells)} | {said} |")
    return "\n".join(lines)


_FIRST = {DEFAULT, CALCULATED, AS_THERE}
RunsByRound = Mapping[int, Mapping[str, float]]


def _cell(name: str, metric: str, own: RunsByRound, base: RunsByRound) -> str:
    if name == CALCULATED:
        value = medians(list(own.values())).get(metric) if own else None
        return "-" if value is None else f"{value:,.4g}"
    return changed(metric, own, base)


def changed(metric: str, own: RunsByRound, base: RunsByRound) -> str:
    """The change from ``base`` to ``own``, paired by round; - with fewer than two pairs."""
    pairs = [
        (base[number][metric], metrics[metric])
        for number, metrics in own.items()
        if metric in metrics and metric in base.get(number, {})
    ]
    if len(pairs) < 2:
        return "-"
    found = change(pairs)
    star = "*" if found.low > 0 or found.high < 0 else ""
    return f"{found.percent:+.1f}%{star} [{found.low:+.1f}, {found.high:+.1f}]"


def _value(row: Mapping[str, Any]) -> str:
    setting = row["setting"]
    if not setting:
        return ""
    value = row["configuration"][setting]
    return f" ({format_decimal(value) if setting in _SIZES else value})"
