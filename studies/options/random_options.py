"""Random OPTIONS files of all that RocksDB takes, measured at 1/64 and some at full size too.

Run with ``make prove-options``: sixteen hours, of which slow writers take most, resumable, alone.
Each file is drawn by its number (``drawn_options.py``), opened by the real db_bench, and kept as
RocksDB dumps it: what a user's own database would hand over. Each dump is then a baseline of
``rocktune bench`` at 1/64; ten of them, drawn before anything is measured, are loaded at both
sizes, by a writer as fast as can be and by one that compactions keep up with.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from jobs.execution.assembly import single_bench
from sampler.bench.db_bench import DbBench
from sampler.bench.installed import InstalledDbBench, find_db_bench, probe, try_options
from sampler.bench.run_ending import read_text
from sampler.common.errors import InputError
from sampler.machine.machine import fingerprint
from sampler.options.option_facts import OptionFact, option_facts
from sampler.options.options_file import OptionsFile, format_options, parse_struct
from sampler.runner.outcome import Outcome
from sampler.runner.process import EndedProcess
from sampler.runner.runner import LocalRunner
from sampler.runner.settings import load_settings
from sampler.space.space import Configuration
from studies.json_lines import append_line, read_lines
from tests.support.sampler.drawn_options import draw_options

SCALE = 64
SEED = 29
_CLOSE = 0.05  # of the WAF at full size
_SLOWEST = 16_384  # bytes a second; db_bench asserts that a tenth of it holds one write
RAW = Path("docs/results/random_options.jsonl")
_STATS = re.compile(r"^\*\* Compaction Stats \[default\] \*\*\nLevel .*\n-+\n((?: .*\n)+)", re.M)
_ROW = re.compile(r"^\s*L(\d+)\s+(\d+)/\d+\s+([\d.]+) ([KMGT]?B)")
_UNITS = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


@dataclass(frozen=True)
class Keeping(DbBench):
    """The real benchmark, which also keeps the shape of the tree."""

    trees: list[dict[str, Any]] = field(default_factory=list)

    def harvest(
        self, configuration: Configuration, folder: Path, ended: EndedProcess, began: float
    ) -> Outcome:
        """Keeps the shape of the tree, then reads the outcome."""
        levels = levels_of(read_text(folder / "stdout"))  # as `stats` told them at its end
        blobs = [path.stat().st_size for path in (folder / "db").glob("*.blob")]
        self.trees.append({"levels": levels, "blobs": [len(blobs), sum(blobs)]})
        return super().harvest(configuration, folder, ended, began)


def levels_of(log: str) -> dict[str, list[int]]:
    """Files and bytes of each level, as a LOG, or the output of db_bench, last told them."""
    tables = _STATS.findall(log)
    rows = [_ROW.match(line) for line in (tables[-1] if tables else "").splitlines()]
    return {
        f"L{row[1]}": [int(row[2]), round(float(row[3]) * _UNITS[row[4]])] for row in rows if row
    }


def dump_of(installed: InstalledDbBench, number: int) -> tuple[OptionsFile | None, str]:
    """RocksDB's own dump of a drawn file, or why it did not open a database with it."""
    with tempfile.TemporaryDirectory(prefix="rocktune-random-") as folder:
        try:
            tried = try_options(installed.program, draw_options(number, seed=SEED), Path(folder))
        except InputError as error:
            return None, str(error)
        return tried.options, tried.complaint if tried.options is None else ""


def beyond_default(options: OptionsFile) -> Iterator[tuple[OptionFact, str]]:
    """The options of a dump that are not RocksDB's defaults, fields of structures one by one."""
    for title, values in options.sections.items():
        section = title.split(" ")[0].removeprefix("TableOptions/")
        for key, text in values.items():
            fact = option_facts().get((section, key))
            members = parse_struct(text) if fact and fact.type == "struct" else {}
            for name, value in members.items() if members else [("", text)]:
                one = option_facts().get((section, f"{key}.{name}" if name else key))
                if one and value != one.default:
                    yield one, value


def opened(installed: InstalledDbBench, count: int) -> list[int]:
    """The numbers of as many files as are wanted that RocksDB opens; others are noted as refused.

    Each is tried once: what came of it is kept.
    """
    known = {row["number"]: row for row in _rows("opened", installed)}
    number = 0
    while True:
        found = [each for each in range(number) if known[each]["opened"]]
        if len(found) == count:
            return found
        if number not in known:
            options, why = dump_of(installed, number)
            row = _row("opened", installed, number)
            known[number] = row | {"opened": options is not None, "why": why}
            append_line(RAW, known[number])
        number += 1


def load_at_a_scale(installed: InstalledDbBench, number: int, keys: int, folder: Path) -> None:
    """Measures a dump at 1/64 as a user would, and keeps what the command said."""
    baseline, workload = _written(installed, number, keys, folder, scale=SCALE)
    argv = [sys.executable, "-m", "cli.main", "bench", "--json"]
    argv += ["--baseline", str(baseline), "--workload", str(workload)]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False)
    printed = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    said = printed[-1] if printed else {"state": "refused", "failure": ran.stderr.strip()}
    append_line(RAW, _row("loaded", installed, number) | {"keys": keys, **said})


def load_at_both(
    installed: InstalledDbBench, number: int, keys: int, folder: Path, *, runs: int
) -> None:
    """Loads one dump at 1/64 and a load of 64 times as many keys at full size, several times.

    Which compaction is picked hangs on what has ended by then, so that one file gives another
    write amplification in each run; of 1/64 there are twice as many runs, which take seconds.
    """
    done = Counter((row["number"], row["scale"]) for row in _rows("both", installed, keys))
    for scale, wanted in ((SCALE, 2 * runs), (1, runs)):
        baseline, workload = _written(installed, number, keys, folder, scale=scale)
        row = _row("both", installed, number) | {"keys": keys, "scale": scale}
        for _ in range(wanted - done[(number, scale)]):
            append_line(RAW, row | _run(baseline, workload))


def load_paced(
    installed: InstalledDbBench, number: int, keys: int, folder: Path, *, pace: int
) -> None:
    """Loads one dump at both sizes, its writer held to ``pace`` bytes a second, and to 1/64 of it.

    ``pace`` is to be so low that each compaction ends before the next is due at both sizes: what
    is compared is the tree, not the race of writer and compactions. db_bench cannot write at less
    than ``_SLOWEST``, so that 1/64 may take a shorter time.
    """
    done = {
        (row["number"], row["scale"])
        for row in _rows("paced", installed, keys)
        if row["pace"] == pace
    }
    for scale in (SCALE, 1):
        if (number, scale) not in done:
            baseline, workload = _written(installed, number, keys, folder, scale=scale)
            limit = f"\n[flags]\nbenchmark_write_rate_limit = {max(pace // scale, _SLOWEST)}\n"
            workload.write_text(workload.read_text() + limit)
            row = _row("paced", installed, number) | {"keys": keys, "pace": pace, "scale": scale}
            append_line(RAW, row | _run(baseline, workload))


def _run(baseline: Path, workload: Path) -> dict[str, Any]:
    nothing = {"metrics": {}, "levels": {}, "blobs": [0, 0]}
    settings = load_settings()
    try:
        built = single_bench(
            str(workload),
            settings,
            baseline=str(baseline),
            drop_unknown=False,
            scale=None,
            db_bench=None,
            configuration={},
        ).benchmark
    except InputError as error:
        return nothing | {"state": "refused", "failure": str(error)}
    assert isinstance(built, DbBench)
    keeping = Keeping(
        **{each.name: getattr(built, each.name) for each in fields(DbBench) if each.init}
    )
    outcome = LocalRunner(keeping, settings).run({})
    said = {"state": outcome.state.value, "failure": outcome.failure}
    return nothing | (keeping.trees[-1] if keeping.trees else {}) | said | {
        "metrics": dict(outcome.metrics)
    }  # fmt: skip


def _written(
    installed: InstalledDbBench, number: int, keys: int, folder: Path, *, scale: int
) -> tuple[Path, Path]:
    options, why = dump_of(installed, number)
    if options is None:
        raise InputError(f"file {number}", f"is not opened any more: {why}")
    baseline, workload = folder / f"OPTIONS-{number}", folder / f"load-{scale}.toml"
    baseline.write_text(format_options(options, rocksdb_version=installed.version))
    workload.write_text(
        f'name = "random-{scale}"\nhelp = "random writes"\nbenchmarks = ["fillrandom"]\n'
        f"num = {keys * SCALE // scale}\nkey_size = 16\nvalue_size = 1024\nsettle = "
        f'"wait"\nscale = {scale}\ntimeout_seconds = 7200\n'
    )
    return baseline, workload


def _row(part: str, installed: InstalledDbBench, number: int) -> dict[str, Any]:
    day = datetime.now(UTC).date().isoformat()
    ours = {"part": part, "seed": SEED, "rocksdb": installed.version}
    return ours | {"number": number, "day": day}


def _rows(part: str, installed: InstalledDbBench, keys: int | None = None) -> list[dict[str, Any]]:
    return [
        row
        for row in read_lines(RAW)
        if (row["part"], row["seed"], row["rocksdb"]) == (part, SEED, installed.version)
        and keys in (None, row.get("keys"))
    ]


def main() -> int:
    """Tries and measures what is missing, and writes the page; 1 where a dump failed at 1/64."""
    given = _parser().parse_args()
    installed = probe(find_db_bench("db_bench"))
    numbers = opened(installed, given.files)
    compared = sorted(Random(SEED).sample(numbers, min(given.both, len(numbers))))
    if not given.page:
        with tempfile.TemporaryDirectory(prefix="rocktune-random-") as name:
            done = {row["number"] for row in _rows("loaded", installed, given.keys)}
            for number in numbers:
                if number not in done:
                    load_at_a_scale(installed, number, given.keys, Path(name))
                    sys.stdout.write(f"file {number} at 1/{SCALE}\n")
                    sys.stdout.flush()
            for number in compared:
                load_at_both(installed, number, given.both_keys, Path(name), runs=given.runs)
                load_paced(installed, number, given.both_keys, Path(name), pace=given.pace)
                sys.stdout.write(f"file {number} at both sizes\n")
                sys.stdout.flush()
    page = _page(installed, numbers, compared, given.keys, given.both_keys)
    RAW.with_suffix(".md").write_text(page)
    loaded = [r for r in _rows("loaded", installed, given.keys) if r["number"] in numbers]
    failed = [row for row in loaded if row["state"] != "done"]
    sys.stdout.write(f"{RAW.with_suffix('.md')}: {len(loaded) - len(failed)} of {len(numbers)}\n")
    return 1 if failed or len(loaded) < len(numbers) else 0


def _page(
    installed: InstalledDbBench,
    numbers: Sequence[int],
    compared: Sequence[int],
    keys: int,
    both_keys: int,
) -> str:
    machine = fingerprint(Path())
    tried = [row for row in _rows("opened", installed) if row["number"] <= max(numbers)]
    refused = [row for row in tried if not row["opened"]]
    loaded = [row for row in _rows("loaded", installed, keys) if row["number"] in numbers]
    states = Counter(row["state"] for row in loaded)
    dumps = {number: dump_of(installed, number)[0] or OptionsFile() for number in numbers}
    left_out = Counter(
        fact
        for options in dumps.values()
        for fact, _ in beyond_default(options)
        if fact.measure == "leave_out"
    )
    lines = [
        "# Random OPTIONS files, loaded at 1/64",
        "",
        f"`make prove-options`, {max(row['day'] for row in tried)}, {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['system']}, "
        f"Python {platform.python_version()}, RocksDB {installed.version}.",
        "",
        f"{len(tried)} files were drawn over all options that this RocksDB takes; it opened "
        f"{len(numbers)} and refused {len(refused)}. Each of those that it opened was taken as "
        f"RocksDB dumps it, and was the baseline of a load of {keys:,} random writes at "
        f"1/{SCALE}.",
        "",
        "| came to | files |",
        "|---|--:|",
        *(f"| {state} | {count} |" for state, count in states.most_common()),
        "",
        *_reasons("refused", (row["why"] for row in refused)),
        *_reasons("not measured", (r["failure"] or "" for r in loaded if r["state"] != "done")),
        "## What was left out",
        "",
        "| option | files | why |",
        "|---|--:|---|",
        *(f"| `{fact.key}` | {count} | {fact.why} |" for fact, count in left_out.most_common()),
        "",
        *_both_sizes(_rows("both", installed, both_keys), dumps, compared, both_keys),
        *_paced(_rows("paced", installed, both_keys), compared),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _reasons(what: str, reasons: Iterable[str]) -> list[str]:
    counted = Counter((text.strip().splitlines() or ["?"])[-1][-160:] for text in reasons)
    lines = [f"- {what}, {count} times: `{text}`" for text, count in counted.most_common()]
    return [*lines, ""] if lines else []


def _both_sizes(
    rows: Sequence[Mapping[str, Any]],
    dumps: Mapping[int, OptionsFile],
    compared: Sequence[int],
    keys: int,
) -> list[str]:
    apart = ["", "Rates and times of these files, which are not divided:", ""]
    for number in compared:
        timed = [
            f"`{fact.key}={value}`"
            for fact, value in beyond_default(dumps[number])
            if fact.type in {"rate", "time"} and fact.measure != "leave_out"
        ]
        apart.append(f"- {number}: {_kind(dumps[number])}; {', '.join(timed) or 'none'}")
    return [
        "## The same at full size",
        "",
        f"{len(compared)} files, drawn before anything was measured, with {keys:,} keys at "
        f"1/{SCALE} and {keys * SCALE:,} at 1. Told are medians of runs, with least and most; "
        "off is how far the median WAF at 1/64 is from that at 1. A tree is that of the last run: "
        "files and MiB of each level, times 64 at 1/64. Rate is keys a second. Here the writer is "
        "as fast as it can be. Where the fixed cost of a flush slows it at 1/64, compactions keep "
        "up; at 1 they fall behind.",
        "",
        *_side_by_side(rows, compared),
        *apart,
    ]


def _paced(rows: Sequence[Mapping[str, Any]], compared: Sequence[int]) -> list[str]:
    """One table for each pace at which all files were written."""
    lines = [
        "",
        "## With a writer that compactions keep up with",
        "",
        f"The same loads, the writer held to a rate at 1, and at 1/{SCALE} to 1/{SCALE} of it, "
        f"but to no less than {_SLOWEST / 2**10:.0f} KiB/s, which db_bench needs. Where it is "
        "slow enough at both, each compaction ends before the next is due, and what is left is "
        "what the options make of the tree.",
    ]
    for pace in sorted({row["pace"] for row in rows}):
        ours = [{"scale": 1, **row} for row in rows if row["pace"] == pace]
        lines += ["", f"{pace / 1e6:.1f} MB/s at 1:", "", *_side_by_side(ours, compared)]
    return lines if rows else []


def _side_by_side(rows: Sequence[Mapping[str, Any]], compared: Sequence[int]) -> list[str]:
    """A row a file with what 1/64 and full size gave, and in how many the WAF is close."""
    lines = [
        "| file | runs | WAF 1/64 | WAF 1 | off | SA 1/64 | SA 1 | rate 1/64 | rate 1 "
        "| tree 1/64 | tree 1 |",
        "|--:|---|--:|--:|--:|--:|--:|--:|--:|---|---|",
    ]
    offs = []
    for number in compared:
        small, whole = (
            [row for row in rows if (row["number"], row["scale"]) == (number, scale)]
            for scale in (SCALE, 1)
        )
        if not whole:
            continue
        off = _off(small, whole) if small else math.nan
        offs += [off] if small else []
        cells = [str(number), f"{len(small)}, {len(whole)}"]
        cells += [_median(side, "waf") for side in (small, whole)]
        cells += [f"{100 * off:+.1f}%" if math.isfinite(off) else ""]
        cells += [_median(side, "sa") for side in (small, whole)]
        cells += [_median(side, "rate", ",.0f") for side in (small, whole)]
        cells += [_shape(small, SCALE), _shape(whole, 1)]
        lines.append(f"| {' | '.join(cells)} |")
    close = sum(abs(off) <= _CLOSE for off in offs)
    told = (
        f"WAF at 1/{SCALE} was within {100 * _CLOSE:.0f}% of that at 1 in {close} of {len(offs)}."
    )
    return [*lines, "", told] if offs else lines


def _values(rows: Sequence[Mapping[str, Any]], metric: str) -> list[float]:
    return [row["metrics"][metric] for row in rows if metric in row["metrics"]]


def _off(small: Sequence[Mapping[str, Any]], whole: Sequence[Mapping[str, Any]]) -> float:
    """By what share the median WAF at 1/64 is off; infinite where a run did not end well."""
    sides = [_values(rows, "waf") for rows in (small, whole)]
    if [len(side) for side in sides] != [len(small), len(whole)] or not median(sides[1]):
        return math.inf
    return median(sides[0]) / median(sides[1]) - 1


def _median(rows: Sequence[Mapping[str, Any]], metric: str, form: str = ".2f") -> str:
    """The median of a metric, with least and most of several runs; a state where none has it."""
    values = _values(rows, metric)
    if not values:
        return str(rows[-1]["state"]) if rows else "-"
    middle = f"{median(values):{form}}"
    least, most = (f"{end:{form}}" for end in (min(values), max(values)))
    return middle if least == most else f"{middle} ({least} to {most})"


def _shape(rows: Sequence[Mapping[str, Any]], scale: int) -> str:
    """The tree of the last run at the size that it stands for."""
    if not rows:
        return "-"
    row = rows[-1]
    levels = [
        f"{name} {files} / {size * scale / 2**20:,.0f}"
        for name, (files, size) in row["levels"].items()
        if files
    ]
    count, size = row["blobs"]
    blobs = [f"blobs {count} / {size * scale / 2**20:,.0f}"] if count else []
    return ", ".join(levels + blobs) or "-"


def _kind(options: OptionsFile) -> str:
    family = options.sections.get('CFOptions "default"', {})
    style = family.get("compaction_style", "").removeprefix("kCompactionStyle").lower()
    table = family.get("table_factory", "").removesuffix("Table")
    memtable = re.sub(r"^{id=(\w+?)(Rep)?Factory;.*", r"\1", family.get("memtable_factory", ""))
    return f"{style}, {table}, {memtable.partition('Factory')[0]}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Random OPTIONS files, measured.")
    parser.add_argument("--files", type=int, default=200, help="how many that RocksDB opens")
    parser.add_argument("--both", type=int, default=10, help="how many of them at full size too")
    parser.add_argument("--keys", type=int, default=80_000, help=f"of a load at 1/{SCALE}")
    parser.add_argument("--both-keys", type=int, default=16_000, help="of those at both sizes")
    parser.add_argument("--runs", type=int, default=3, help="at full size; twice as many at 1/64")
    parser.add_argument(
        "--pace", type=int, default=300_000, help="of the slow writer at full size, bytes/s"
    )
    parser.add_argument("--page", action="store_true", help="only write the page")
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped; called again it goes on")
