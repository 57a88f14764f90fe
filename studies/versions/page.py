"""docs/results/versions.md: what every tried build of RocksDB does with Rocktune."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from sampler.rocksdb.parameters import catalogue
from studies.options.accepted_draws import SPACES
from studies.study import days_words
from studies.versions.trial import Rows

_HEAD = """# RocksDB versions: what was tried

Rocktune was tried with every build below: a `db_bench` each, of its own version of RocksDB. What
has changed between them, and what that means: [versions](../explanation/versions.md)."""
_TRIED = """## What was tried

*Lacks*: options of Rocktune's catalogue that the build does not have; a search leaves them out and
says so. *Readers*: tests that read output, LOG, OPTIONS and statistics of the real program.
*Refused*, *repaired*: drawn configurations of all spaces that the build did not open, or opened
with a value other than the one requested. *Torn*: OPTIONS files that did not read the same after
they were written again. *Died*: draws whose first attempt was stopped by a failed assertion.
*Tune*: a job of the quick load, from the command line. *Fitness*: 10 points for each percent by
which a metric is better than with the build's defaults. *Ahead*: the winner's fitness less that of
the best ready-made configuration that the search began with, measured in the same proof; where the
interval holds 0, no difference is shown."""
_DEFAULTS = """## What has changed between them

Between each build and the next one, without a load: what `rocktune upgrade-check OLD NEW
--pairs 0` finds. `info_log_level` changes with the assertions, not with the version."""


_SIDES = """## Jobs of {runs} runs, side by side

`rocktune tune --workload load-quick --trials {runs} --seed 1` with the oldest build and the
newest, each against its own defaults and within their memory. Intervals are the 95% ones of the
proof's pairs. Options that only follow another are left out."""
_SIDES_METRICS = ("waf", "sa", "time", "rate")


@dataclass(frozen=True)
class PageSettings:
    """Which rows a page is of."""

    draws: int  # of each space
    trials: int  # of each build's job
    long: int  # of the jobs on the oldest build and the newest


def write_page(out: Path, command: str, rows: Rows, settled: PageSettings) -> None:
    """Writes the page from all rows, at least one of a build."""
    builds = sorted(rows.of("build"), key=lambda row: _numbers(row["key"][1]))
    versions = [row["key"][1] for row in builds]
    machine = builds[-1]["machine"]
    about = (
        f"Command: `{command}`. {machine['cpu']}, {machine['cores']} cores, {machine['system']}; "
        f"{days_words(row['ended'][:10] for row in rows.all)}."
    )
    parts = [
        f"{_HEAD}\n\n{about}",
        _TRIED,
        _table(
            [_tried(rows, row, settled) for row in builds],
            "RocksDB", "assertions", "lacks", "readers: passed", "failed", "draws", "refused",
            "repaired", "torn", "died", "tune: verdict", "ahead of the best start", "minutes",
        ),
        _refusals(rows, versions, settled.draws),
        _DEFAULTS,
        _table(
            [_pair(row) for row in _steps(rows, versions)],
            "from", "to", "changed defaults", "options added", "removed", "flags added", "removed",
        ),
        _all_pairs(rows),
        *_side_by_side(rows, settled.long),
    ]  # fmt: skip
    out.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")


def wrong_rows(rows: Rows, settled: PageSettings) -> list[str]:
    """What went wrong, a line each: failed tests of readers, draws that were not accepted."""
    found = []
    for version in dict.fromkeys(row["key"][1] for row in rows.of("build")):
        readers = rows.of("readers", version)[-1:]
        found += [f"RocksDB {version}: {test}" for row in readers for test in row["failed"]]
        draws = rows.of("draws", version, settled.draws)
        bad = sum(len(r["refused"]) + sum(r["repaired"].values()) + r["torn"] for r in draws)
        found += [f"RocksDB {version}: {bad} draws not accepted as asked"] if bad else []
    return found


def _tried(rows: Rows, build: Mapping[str, Any], settled: PageSettings) -> list[str]:
    version = build["key"][1]
    draws = rows.of("draws", version, settled.draws)
    readers, tuned = rows.of("readers", version), rows.of("tune", version, settled.trials)
    counted = readers[-1]["counted"] if readers else {}
    repaired = sum((Counter(row["repaired"]) for row in draws), Counter())
    refused = sum(len(row["refused"]) for row in draws)
    return [
        version,
        "on" if build["assertions"] else "off",
        ", ".join(f"`{name}`" for name in build["lacks"]) or "none",
        str(counted.get("passed", "-")),
        str(counted.get("failed", 0) + counted.get("error", 0)) if readers else "-",
        f"{sum(row['draws'] for row in draws):,}",
        str(refused) if draws else "-",
        ", ".join(f"`{name}` {count}" for name, count in repaired.most_common()) or "0",
        str(sum(row["torn"] for row in draws)),
        str(sum(len(row["died"]) for row in draws)),
        _verdict(tuned[-1]) if tuned else "-",
        _ahead(tuned[-1]) if tuned else "-",
        f"{tuned[-1]['time']['wall_seconds'] / 60:.1f}" if tuned else "-",
    ]


def _ahead(row: Mapping[str, Any]) -> str:
    ahead = (row["starting_point"] or {}).get("ahead")
    if not ahead:
        return "-"
    return f"{ahead['fitness']:+,.0f} [{ahead['low']:+,.0f}, {ahead['high']:+,.0f}]"


def _verdict(row: Mapping[str, Any]) -> str:
    verdict = row["verdict"]
    if not verdict:
        return "no candidate"
    middle = (verdict["low"] + verdict["high"]) / 2
    said = f"{middle:,.0f} [{verdict['low']:,.0f}, {verdict['high']:,.0f}]"
    return f"better, fitness {said}" if row["best"] else f"not proven, {said}"


def _refusals(rows: Rows, versions: Sequence[str], draws: int) -> str:
    lines = []
    for version in versions:
        why = Counter(
            f"{row['space']}: {each['why'].splitlines()[0]}"
            for row in rows.of("draws", version, draws)
            for each in row["refused"]
        )
        lines += [f"- {version}, refused {count}: `{words}`" for words, count in why.most_common()]
        counted = [f"{name} {_count(rows, version, draws, name):,}" for name in SPACES]
        if rows.of("draws", version, draws) and not why:
            lines.append(f"- {version}: {', '.join(counted)}, all opened.")
    return "\n".join(lines)


def _count(rows: Rows, version: str, draws: int, space: str) -> int:
    return sum(row["draws"] for row in rows.of("draws", version, draws, space))


def _steps(rows: Rows, versions: Sequence[str]) -> list[Mapping[str, Any]]:
    found = [rows.of("upgrade", *pair) for pair in pairwise(versions)]
    return [row[-1] for row in found if row]


def _pair(row: Mapping[str, Any]) -> list[str]:
    changed = [f"`{key}` {old} -> {new}" for _, key, old, new in row["changed"]]
    numbers = [str(len(row[name])) for name in _LISTS]
    return [row["key"][1], row["key"][2], "; ".join(changed) or "none", *numbers]


_LISTS = ("added", "removed", "flags_added", "flags_removed")


def _all_pairs(rows: Rows) -> str:
    lines = [
        f"{row['key'][1]} to {row['key'][2]}: {len(row['changed'])}" for row in rows.of("upgrade")
    ]
    return f"Changed defaults of each pair: {'; '.join(lines)}." if lines else ""


def _side_by_side(rows: Rows, runs: int) -> list[str]:
    """The long jobs of two builds: what was proven, and which options both changed."""
    long = [row for row in rows.of("tune") if row["key"][2] == runs and row["verdict"]]
    if len(long) < 2:
        return []
    long.sort(key=lambda row: _numbers(row["key"][1]))
    versions = [row["key"][1] for row in long]
    changed = [{c["name"]: c for c in row["changes"] if not c["rule"]} for row in long]
    gains = [
        ["fitness", *(_verdict(row) for row in long)],
        ["ahead of the best start", *(_ahead(row) for row in long)],
    ]
    for name in _SIDES_METRICS:
        found = [row["verdict"]["change"].get(name) for row in long]
        gains.append([name, *(_change(each) if each else "-" for each in found)])
    gains += [
        [
            "run time with the defaults, s",
            *(f"{row['baseline']['metrics']['time']:.2f}" for row in long),
        ],
        ["changed options", *(str(len(each)) for each in changed)],
    ]
    names = sorted({name for each in changed for name in each})
    both = [name for name in names if all(name in each for each in changed)]
    shared = ", ".join(f"`{name}`" for name in both) or "none"
    options = [
        [f"`{name}`", *(_moved(name, each[name]) if name in each else "-" for each in changed)]
        for name in names
    ]
    return [
        _SIDES.format(runs=runs),
        _table(gains, "", *versions),
        _table(options, "option", *versions),
        f"Changed in both: {shared}.",
    ]


def _change(change: Mapping[str, float]) -> str:
    return f"{change['percent']:+.0f}% [{change['low']:+.0f}, {change['high']:+.0f}]"


def _moved(name: str, change: Mapping[str, Any]) -> str:
    old, new = (_value(name, change[side]) for side in ("baseline", "value"))
    return f"{old} -> {new}"


def _value(name: str, value: Any) -> str:
    known = catalogue().get(name)
    if known is not None and known.is_bytes and value not in known.special:
        return known.words(value)
    return json.dumps(value).strip('"')


def _table(rows: Sequence[Sequence[str]], *head: str) -> str:
    if not rows:
        return "None yet."
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _numbers(version: str) -> list[int]:
    return [*map(int, version.split("."))]
