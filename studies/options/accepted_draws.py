"""Lets the real db_bench open 10,000 drawn configurations, and lists what it refuses or repairs.

Run with ``make prove-draws ARGS="--draws 10000"``: 20 minutes. What was tried is not tried again.
Each draw writes one key under its whole OPTIONS file at the scale of the quick loads; what RocksDB
wrote of it is read, compared with what was asked for, written and read again.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sampler.bench.bench_plan import BenchPlan, effective_values
from sampler.bench.installed import InstalledDbBench, find_db_bench, probe, try_options
from sampler.rocksdb.option_values import read_values
from sampler.rocksdb.options_file import OptionsFile, format_options, parse_options
from sampler.space.space import Configuration
from sampler.space.space_file import SHIPPED, load_space
from sampler.workload.workload import Workload
from studies.study import append_line, made_by, read_lines
from tests.support.sampler.options_compared import settings_of
from tests.support.sampler.real_runs import at_baseline_of, drawn

RAW = Path("docs/results/accepted_draws.jsonl")
SPACES = tuple(n for n in SHIPPED if any(each.is_option for each in load_space(n).parameters))
SCALE = 64
_EVERY = 100  # draws of a line of the raw results


def main() -> int:
    """Tries what is missing, and writes the page; 1 where something was refused."""
    given = _parser().parse_args()
    installed = probe(find_db_bench("db_bench"))
    count = -(-given.draws // len(SPACES))
    # Of another number of draws, or another RocksDB, they would be of another design.
    rows = [
        r
        for r in read_lines(RAW)
        if (r["of"], r["rocksdb"]) == (count, installed.version) and "died" in r
    ]
    for space in SPACES:
        done = sum(row["draws"] for row in rows if row["space"] == space)
        for first in range(done, count, _EVERY):
            row = tried_draws(installed, space, count, first, min(first + _EVERY, count))
            append_line(RAW, row)
            rows.append(row)
            sys.stdout.write(f"{space}: {first + row['draws']} of {count}\n")
            sys.stdout.flush()
    sys.stdout.write(_write_page(RAW.with_suffix(".md"), given.draws, installed, rows) + "\n")
    return 1 if any(row["refused"] or row["torn"] for row in rows) else 0


def tried_draws(
    installed: InstalledDbBench, name: str, count: int, first: int, end: int
) -> dict[str, Any]:
    """Draws ``first`` to ``end`` of ``count`` over a shipped space: what became of them."""
    library = installed.library_defaults()
    space = at_baseline_of(installed, name)
    plan = BenchPlan(Workload(name="tiny", num=1, scale=SCALE), space, library)
    refused: list[dict[str, Any]] = []
    repaired: Counter[str] = Counter()
    died: list[str] = []
    torn = 0
    for number, configuration in enumerate(drawn(space, count)):
        if not first <= number < end:
            continue
        with tempfile.TemporaryDirectory(prefix="rocktune-draw-") as folder:
            options, flags = plan.options(configuration), plan.flags(configuration)
            tried = try_options(installed.program, options, Path(folder), flags)
            shutil.rmtree(Path(folder) / "db", ignore_errors=True)
        died += [tried.died] if tried.died else []
        if tried.options is None:
            refused.append(
                {"number": number, "why": tried.complaint, "asked": dict(configuration)}
            )
            continue
        _, changed = effective_values(tried.options, configuration, space, scale=SCALE)
        repaired.update(line.partition(":")[0] for line in changed)
        torn += not _round_trips(tried.options, plan, configuration)
    return {
        "space": name,
        "draws": end - first,
        "of": count,
        "rocksdb": installed.version,
        "refused": refused,
        "repaired": dict(repaired),
        "torn": torn,
        "died": died,
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _round_trips(written: OptionsFile, plan: BenchPlan, configuration: Configuration) -> bool:
    """Whether a file reads the same after it was written again, and so does what is exported."""
    known = plan.space.known.values()
    for options in (written, plan.export(configuration)):
        again = parse_options(format_options(options, rocksdb_version="7.8.3"))
        if settings_of(again) != settings_of(options):
            return False
        if read_values(again, known) != read_values(options, known):
            return False
    return True


def _write_page(
    out: Path, draws: int, installed: InstalledDbBench, rows: Sequence[Mapping[str, Any]]
) -> str:
    tried = sum(row["draws"] for row in rows)
    lines = [
        "# Drawn configurations that the real `db_bench` opened",
        "",
        made_by(f'make prove-draws ARGS="--draws {draws}"', [rows[-1]["ended"][:10]])
        + f", RocksDB {installed.version}.",
        "",
        f"{tried:,} draws of a Latin hypercube over each shipped space of RocksDB's options, at "
        f"scale {SCALE}, within the memory of its baseline where jobs on it keep to that, as on "
        "all but `paper` and Samsung's. *Refused*: RocksDB did not open a database with it. "
        "*Repaired*: it opened, with another value than was asked for. *Torn*: an OPTIONS file, "
        "RocksDB's or the exported one, did not read the same after it was written again. *Died*: "
        "of an assertion at the first try, which a second one passed, or it is refused too.",
        "",
        "| space | draws | refused | repaired | torn | died |",
        "|---|--:|--:|---|--:|--:|",
    ]
    for name in SPACES:
        own = [row for row in rows if row["space"] == name]
        if own:
            repaired = sum((Counter(row["repaired"]) for row in own), Counter())
            said = ", ".join(f"`{option}` {count}" for option, count in repaired.most_common())
            cells = [name, f"{sum(r['draws'] for r in own):,}"]
            cells += [f"{sum(len(r['refused']) for r in own)}", said or "0"]
            cells += [str(sum(r["torn"] for r in own)), str(sum(len(r["died"]) for r in own))]
            lines.append(f"| {' | '.join(cells)} |")
    why = Counter(each["why"].splitlines()[0] for row in rows for each in row["refused"])
    why += Counter(f"died: {said.splitlines()[0]}" for row in rows for said in row["died"])
    lines += ["", *(f"- {count} times: `{words}`" for words, count in why.most_common()), ""]
    out.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
    return f"{out} tells of {tried:,} draws"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Draws that the real db_bench opens.")
    parser.add_argument("--draws", type=int, default=10_000, help="over all shipped spaces")
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped; called again it goes on")
