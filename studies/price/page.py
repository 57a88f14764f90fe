"""docs/results/price.md: every figure out of the rows that are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from optimizer.objective.limits import kept_words
from sampler.common.byte_size import format_bytes
from sampler.workload.tree_reads import READS

Row = Mapping[str, Any]
_TERMS = ("waf", "sa", "time", "rate")
_PAID = (*READS, "memory", "peak_rss")


def page(rows: Sequence[Row], command: str) -> str:
    """The page as Markdown."""
    proven = [row for row in rows if (row["verdict"] or {}).get("confirmed")]
    lost = [row for row in proven if {r["metric"] for r in _losses(row)} & {*READS}]
    hours = sum(row["seconds"] for row in rows) / 3600
    machine = rows[-1]["machine"]
    return "\n".join(
        [
            "# What do reads and memory pay for what writes gain?",
            "",
            f"`{command}`: {len(rows)} jobs, {sum(row['runs'] for row in rows):,} runs of "
            f"`db_bench`, {hours:.1f} hours. Last {rows[-1]['date']}, {machine['cores']} cores "
            f"({machine['cpu']}), {format_bytes(machine['memory_bytes'])}, "
            f"{machine['file_system']}, {machine['system']}, RocksDB {machine['rocksdb']}.",
            "",
            "After each run of a proof both trees are read: present keys, absent keys and short "
            "scans (20 keys), from memory and (`_cold`) from the device. Figures are changes with "
            "95% intervals. **Bold**: surely worse, and by more than a fifth. "
            f"Of {len(proven)} proven winners {len(lost)} lose so much of a kind of read.",
            "",
            *_table("What was won", rows, _TERMS),
            *_table("What was paid: measured, not tuned, but for limits", rows, _PAID),
            "## The first line of each verdict",
            "",
            *(
                f"- {row['case']}: {(row['verdict'] or {}).get('trade', 'no proof')}"
                for row in rows
            ),
            "",
            *_instead(rows),
        ]
    )


def _table(title: str, rows: Sequence[Row], metrics: Sequence[str]) -> list[str]:
    lines = [
        f"## {title}",
        "",
        f"| job | proven | fitness | {' | '.join(f'`{name}`' for name in metrics)} |",
        f"|---|---|--:|{'--:|' * len(metrics)}",
    ]
    for row in rows:
        verdict = row["verdict"]
        if verdict is None:
            continue
        losses = {each["metric"] for each in _losses(row)}
        cells = [_cell(verdict["change"].get(name), bold=name in losses) for name in metrics]
        proven = f"yes, {row['changed']} changes" if verdict["confirmed"] else "no"
        lines.append(
            f"| {row['case']} | {proven} | {verdict['fitness']:,.0f} | {' | '.join(cells)} |"
        )
    return [*lines, ""]


def _losses(row: Row) -> Sequence[Mapping[str, Any]]:
    price: Mapping[str, Any] = (row["verdict"] or {}).get("price") or {}
    found: Sequence[Mapping[str, Any]] = price.get("losses", ())
    return found


def _cell(change: Mapping[str, float] | None, *, bold: bool) -> str:
    if change is None:
        return ""
    interval = (
        "" if change["low"] == change["high"] else f"{change['low']:+.0f}, {change['high']:+.0f}"
    )
    text = f"{change['percent']:+.0f}%" + (f" [{interval}]" if interval else "")
    return f"**{text}**" if bold else text


def _instead(rows: Sequence[Row]) -> list[str]:
    """Jobs without a limit and with one, side by side."""
    by_name = {row["case"]: row for row in rows}
    pairs = [
        (by_name[row["beside"]], row) for row in rows if row["limit"] and row["beside"] in by_name
    ]
    if not pairs:
        return []
    lines = ["## What a limit gives instead", ""]
    for free, limited in pairs:
        lines += [f"- {_told(free)}", f'  With `--limit "{limited["limit"]}"`: {_told(limited)}']
    return [*lines, ""]


def _told(row: Row) -> str:
    verdict = row["verdict"]
    if verdict is None:
        return f"{row['case']}: no proof."
    scans = _cell(verdict["change"].get("scan_short"), bold=False)
    limits = "".join(f" Limit {kept_words(each)}." for each in verdict["limits"])
    proven = "proven" if verdict["confirmed"] else "not proven"
    return (
        f"{row['case']}: fitness {verdict['fitness']:,.0f}, {proven}; short scans {scans}.{limits}"
    )
