"""docs/results/jobs.md: what whole jobs proved, with how few changes, and beside which start."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from optimizer.confirmation.paired_tests import interval_of_mean
from optimizer.confirmation.proof import fitness_by_pair
from optimizer.objective.objective_file import load_objective
from sampler.common.text import format_bytes
from sampler.workload.metric_table import READS
from studies.study import days_words
from studies.whole_jobs.job import BASELINE, FULL, PROVEN

Row = Mapping[str, Any]
_HEAD = """# Whole jobs of the default strategy

Each row is one `rocktune tune` with its defaults, from the command line on the real `db_bench`.
Fitness is the mean over the pairs of the proof, with its 95% interval: each percent by which a
metric is better counts 10, by which it is worse -10. Minutes count a pause where a job was
stopped and went on. Written by `studies/whole_jobs` from [jobs.jsonl](jobs.jsonl)."""
_STARTS = """## The winner beside the best starting point

Both are measured in each block of the proof. *Ahead* is the winner's fitness less the starting
point's, block by block, with its 95% interval; 0 where the winner is that point. *Behind* counts
jobs whose interval lies below 0."""
_CHANGES = """## How few changes

*Changes* are the options of the proven file that differ from the defaults, those that only follow
another left out. *Shown* are those whose own interval, by the job's models, leaves 0 out."""
_SIDES = """## The proven file beside the fullest one

The fullest candidate of the choice, the proven one and the defaults, measured anew in blocks in a
drawn order after the job has ended."""
_PRICE = """## What reads pay

Reads of both settled trees in the proof: measured, not tuned. Change in operations a second, with
its 95% interval; * where that lies below 0."""


def write_page(out: Path, command: str, rows: Sequence[Row]) -> None:
    """Writes the page from all rows, at least one of a job."""
    jobs = [row for row in rows if row["kind"] == "job"]
    sides = [row for row in rows if row["kind"] == "side"]
    parts = [
        f"{_HEAD}\n\n{_about(command, jobs)}",
        _table(_each(jobs), "load", "runs", "seed", "RocksDB", "minutes", "fitness", "changes",
               "shown", "best starting point", "its fitness", "ahead"),
        _STARTS,
        _table(_by_cell(jobs), "load", "runs", "RocksDB", "jobs", "proven", "winner, mean",
               "start, mean", "ahead, mean", "least", "behind"),
        _CHANGES,
        _table(_few(jobs), "jobs of", "jobs", "changes, median", "most", "shown, of all"),
        _SIDES,
        _table(_beside(jobs, sides), "load", "runs", "seed", "RocksDB", "changes", "full: changes",
               "fitness", "full: fitness", "share", "difference"),
        _PRICE,
        _table(_prices(jobs), "load", "runs", "seed", "RocksDB", *READS, "peak memory"),
    ]  # fmt: skip
    out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def own_changes(job: Row) -> list[Row]:
    """The proven changes that follow no other."""
    best = job.get("best") or {}
    return [each for each in best.get("changes") or () if not each["rule"]]


def is_shown(change: Row) -> bool:
    """Whether the interval of a change's gain leaves 0 out."""
    return change["gain"] is not None and change["gain"]["low"] > 0


def side_by_side(job: Row, rows: Sequence[Row]) -> tuple[float, float, float, float] | None:
    """Fitness of the proven and the full one, their mean difference and half of its interval.

    ``rows`` are runs, those of other jobs passed over. None with fewer than two whole blocks.
    """
    objective = load_objective(job["objective"])
    blocks: dict[int, dict[str, Row]] = {}
    for row in rows:
        if row["key"] == job["key"] and row["done"]:
            blocks.setdefault(row["round"], {})[row["side"]] = row["metrics"]
    whole = [each for _, each in sorted(blocks.items()) if each.keys() >= {BASELINE, FULL, PROVEN}]
    if len(whole) < 2:
        return None
    proven, full = (
        fitness_by_pair(objective, [(each[BASELINE], each[side]) for each in whole])
        for side in (PROVEN, FULL)
    )
    mean, half, _ = interval_of_mean(proven - full)
    return float(proven.mean()), float(full.mean()), mean, half


def _about(command: str, jobs: Sequence[Row]) -> str:
    host = jobs[-1]["host"]
    days = {str(job["ended"])[:10] for job in jobs}
    when = days_words(days)
    return (
        f"Command: `{command}`. {host['cpu']}, {host['cores']} cores, "
        f"{format_bytes(host['memory_bytes'])}, {host['file_system']}, {host['system']}; {when}; "
        f"{len(jobs)} jobs."
    )


def _each(jobs: Sequence[Row]) -> list[list[str]]:
    found = []
    for job in jobs:
        start, own = _start(job), own_changes(job)
        found.append([
            *_cell(job), f"{job['time']['wall_seconds'] / 60:.1f}", _verdict(job),
            str(len(own)) if own else "-", str(sum(map(is_shown, own))) if own else "-",
            f"{start['name']}{', the winner' if start['is_best'] else ''}" if start else "-",
            _number(start.get("fitness")), _interval(start.get("ahead"), "fitness"),
        ])  # fmt: skip
    return found


def _by_cell(jobs: Sequence[Row]) -> list[list[str]]:
    found = []
    for key in dict.fromkeys((job["key"][0], job["key"][1], _build(job)) for job in jobs):
        mine = [job for job in jobs if (job["key"][0], job["key"][1], _build(job)) == key]
        starts = [_start(job) for job in mine]
        ahead = [s["ahead"]["fitness"] if s.get("ahead") else 0.0 for s in starts if s]
        behind = sum(bool(s.get("ahead")) and s["ahead"]["high"] < 0 for s in starts)
        won = [_over_pairs(job["verdict"]) for job in mine if job["verdict"]]
        theirs = [s["fitness"] for s in starts if s.get("fitness") is not None]
        found.append([
            key[0], str(key[1]), key[2], str(len(mine)), str(sum(map(_confirmed, mine))),
            _mean(won), _mean(theirs), _mean(ahead), _number(min(ahead, default=None)),
            str(behind),
        ])  # fmt: skip
    return found


def _few(jobs: Sequence[Row]) -> list[list[str]]:
    wanted = [
        job
        for job in jobs
        if job["key"][0] in ("load-quick", "mixed-quick") and 60 <= job["key"][1] <= 90
    ]
    found = []
    groups = {"load-quick and mixed-quick, 60 to 90 runs": wanted, "all": jobs}
    for name, members in groups.items():
        lists = [own_changes(job) for job in members if _confirmed(job)]
        if lists:
            counts = [len(own) for own in lists]
            shown = f"{sum(is_shown(each) for own in lists for each in own)} of {sum(counts)}"
            found.append([name, str(len(lists)), f"{median(counts):g}", str(max(counts)), shown])
    return found


def _beside(jobs: Sequence[Row], sides: Sequence[Row]) -> list[list[str]]:
    found, shares = [], []
    for job in jobs:
        compared = side_by_side(job, sides)
        if compared is None:
            continue
        proven, full, mean, half = compared
        share = proven / full if full > 0 else None  # of a loss there is no share
        shares += [] if share is None else [share]
        found.append([
            *_cell(job), str(len(own_changes(job))), str(job["best"]["fullest"]["changes"]),
            _number(proven), _number(full), "-" if share is None else f"{100 * share:.0f}%",
            f"{mean:+z,.0f} [{mean - half:+z,.0f}, {mean + half:+z,.0f}]",
        ])  # fmt: skip
    if shares:
        found.append(["median", "", "", "", "", "", "", "", f"{100 * median(shares):.0f}%", ""])
    return found


def _prices(jobs: Sequence[Row]) -> list[list[str]]:
    found = []
    for job in jobs:
        change = (job["verdict"] or {}).get("change") or {}
        if any(name in change for name in READS):
            cells = [_percent(change.get(name), up=True) for name in READS]
            found.append([*_cell(job), *cells, _percent(change.get("peak_rss"), up=False)])
    return found


def _table(rows: Sequence[Sequence[str]], *head: str) -> str:
    if not rows:
        return "None yet."
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(job: Row) -> list[str]:
    workload, trials, seed, _ = job["key"]
    return [workload, str(trials), str(seed), _build(job)]


def _build(job: Row) -> str:
    return str(job["host"]["rocksdb"])


def _confirmed(job: Row) -> bool:
    return bool(job["verdict"] and job["verdict"]["confirmed"])


def _start(job: Row) -> Row:
    return job.get("starting_point") or {}


def _verdict(job: Row) -> str:
    verdict = job["verdict"]
    if not verdict:
        return "no winner"
    said = f"{_over_pairs(verdict):,.0f} [{verdict['low']:,.0f}, {verdict['high']:,.0f}]"
    return said if verdict["confirmed"] else f"{said}, not proven"


def _over_pairs(verdict: Row) -> float:
    """The mean over the pairs is the middle of its interval; ``fitness`` is that of medians."""
    return float(verdict["low"] + verdict["high"]) / 2


def _interval(found: Row | None, name: str) -> str:
    if not found:
        return "-"
    return f"{found[name]:+z,.0f} [{found['low']:+z,.0f}, {found['high']:+z,.0f}]"


def _percent(change: Row | None, *, up: bool) -> str:
    if not change:
        return "-"
    worse = change["high"] < 0 if up else change["low"] > 0
    star = "*" if worse else ""
    return f"{change['percent']:+.0f}%{star} [{change['low']:+.0f}, {change['high']:+.0f}]"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _mean(values: Sequence[float]) -> str:
    return _number(fmean(values) if values else None)
