"""docs/results/autotune.md: sentences around the tables; our figures are of the runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jobs.autotune.compare import run_plot
from jobs.autotune.policy import POLICIES
from jobs.autotune.request import FULL_SECONDS
from jobs.charts.curves import curves_svg
from sampler.common.byte_size import format_bytes
from studies.arguments import days_words
from studies.autotune.tables import figures_table, of, ratios_table

_Row = Mapping[str, Any]
_PROSE = Path(__file__).with_name("autotune.md")
_PLACE = "<!-- what was measured -->"


def write_page(raw: Path, command: str, rows: Sequence[_Row]) -> str:
    """Writes the page beside the raw results, and the plots into a folder there.

    Args:
        raw: ``docs/results/autotune.jsonl``.
        command: What measures.
        rows: All lines of it; none: the page says that nothing is measured yet.

    Returns:
        The page.
    """
    probe = next((row for row in rows if row["run"] == "probe"), None)
    runs = [row for row in rows if "policy" in row]
    text = _PROSE.read_text(encoding="utf-8")
    text = text.replace(_PLACE, "\n\n".join(_measured(raw, command, probe, runs)))
    raw.with_suffix(".md").write_text(text, encoding="utf-8")
    return text


def _measured(raw: Path, command: str, probe: _Row | None, runs: Sequence[_Row]) -> list[str]:
    parts = ["## What we measured"]
    if probe is None or not runs:
        return [*parts, f"Nothing yet: `{command}` measures, and writes this section."]
    days = {row["ended"][:10] for row in runs}
    host, capacity, share = probe["host"], probe["capacity"], probe["share"]
    versions = ", ".join(sorted({row["rocksdb"] or "?" for row in runs}))
    found = "measured in 5 s without compaction or limit" if probe["measured"] else "given"
    parts.append(
        f"`{command}`, {days_words(days)}, "
        f"{host['cores']} cores ({host['cpu']}{', virtual' if host['virtual'] else ''}), "
        f"{format_bytes(host['memory_bytes'])}, {host['file_system']}, {host['system']}, RocksDB "
        f"{versions} in rocksdict. {len(runs)} runs in rounds, the policies of a round in a drawn "
        f"order; raw results: [{raw.name}]({raw.name}). 100% of the disk is "
        f"{capacity / 1e6:.4g} MB/s ({found}), so the wave goes from "
        f"{capacity / 19 * 5 / 1e6:.3g} to {capacity / 19 * 20 / 1e6:.3g} MB/s. Times and the "
        f"tree's sizes are {share:g} of the thesis's."
    )
    for shape in FULL_SECONDS:
        mine = [row for row in runs if row["shape"] == shape]
        if mine:
            parts += _shape(raw, shape, share, mine)
    return parts


def _shape(raw: Path, shape: str, share: float, rows: Sequence[_Row]) -> list[str]:
    rounds = len({row["repeat"] for row in rows})
    parts = [
        f"### {shape} s, here {FULL_SECONDS[shape] * share:g} s",
        f"Medians of {rounds} {'round' if rounds == 1 else 'rounds'}, lowest to highest in "
        "brackets.",
        "\n".join(figures_table(rows)),
        "Within rounds: change of the geometric mean with its 95% t interval. Uncorrected for "
        "the number of comparisons.",
        "\n".join(ratios_table(rows)),
    ]
    for policy in POLICIES:
        mine = of(rows, policy)
        if not mine:
            continue
        plot = run_plot(mine[0])
        folder = raw.with_suffix("")
        folder.mkdir(exist_ok=True)
        file = folder / f"{shape}-{policy}.svg"
        file.write_text(curves_svg(plot), encoding="utf-8")
        parts.append(f"![{plot.title}]({folder.name}/{file.name})")
    return parts
