"""The best configuration in words: its price, its reasons, its explanation, what else there is.

The same for OPTIONS.ini, the terminal, the report and the dashboard. Results of earlier versions
lack some of it.
"""

import re
from collections.abc import Mapping
from typing import Any

from jobs.results.figures import metric_amount, option_value
from optimizer.budget.power import ALPHA, LEAST_PAIRS
from optimizer.objective.limits import OPEN
from sampler.parameters.catalogue import catalogue
from sampler.workload.metric_table import format_change, is_share
from sampler.workload.tree_reads import READS

_MOST_NAMED = 8


def numbered(line: str, job: object) -> str:
    """A line with a job's number in its commands, which say ID."""
    return re.sub(r"(`rocktune [a-z]+) ID\b", rf"\1 {job}", line)


def reasons(result: Mapping[str, Any]) -> dict[str, str]:
    """By option that the best configuration changes, why."""
    rows = (result["best"] or {}).get("changes") or ()
    return {row["name"]: row["reason"] for row in rows}


def change_lines(result: Mapping[str, Any]) -> list[str]:
    """A line each, as ``write_buffer_size = 32 MiB: predicted fitness +210 [120, 300]``.

    Beside a special value stands what it means.
    """
    rows = (result["best"] or {}).get("changes") or ()
    return [f"{_set_to(row['name'], row['value'])}: {row['reason']}" for row in rows]


def special_words(name: str, value: Any) -> str | None:
    """What an option's special value, as 0 or -1, means, as a sentence; None for any other."""
    parameter = catalogue().get(name)
    meaning = parameter.meaning(value) if parameter else ""
    return f"{name} = {value}: {meaning}." if meaning else None


def _set_to(name: str, value: Any) -> str:
    parameter = catalogue().get(name)
    meaning = parameter.meaning(value) if parameter else ""
    return f"{name} = {option_value(value, parameter)}{f' ({meaning})' if meaning else ''}"


def tested_fitness(verdict: Mapping[str, Any]) -> float | None:
    """The fitness that the proof tested: the centre of the interval that stands beside it.

    In results of earlier versions ``fitness`` is of the medians of both sides instead.
    """
    low, high = verdict.get("low"), verdict.get("high")
    return verdict.get("fitness") if low is None or high is None else (low + high) / 2


def beside_lines(result: Mapping[str, Any]) -> list[str]:
    """What a reader should know beside the best: a sentence each."""
    return [*starting_point_lines(result), *other_candidate_lines(result)]


def other_candidate_lines(result: Mapping[str, Any]) -> list[str]:
    """A sentence each on the candidate that loses nothing, and on the one with more changes."""
    return [*filter(None, [_no_trade(result), _fullest(result)])]


def starting_point_lines(result: Mapping[str, Any]) -> list[str]:
    """How far the best is ahead of the best starting point; none where none was measured."""
    start = result.get("starting_point")
    if not start:
        return []
    said = f"starting point {start['name']} (trial {start['trial']})"
    if start["is_best"]:
        return [f"The candidate is the {said}: the search found nothing as simple and as good."]
    if start["fitness"] is None:
        return []
    ahead = start["ahead"]
    how, advice = "Not significantly better", ""
    if ahead["low"] > 0:
        how = "Better"
    elif ahead["high"] < 0:
        how, advice = "Worse", " Start from that point, or search longer."
    return [
        f"{how} than the best {said}, whose fitness in the proof is "
        f"{_interval(start, start['fitness'])}; difference {_interval(ahead, ahead['fitness'])}."
        f"{advice}"
    ]


def _no_trade(result: Mapping[str, Any]) -> str | None:
    from optimizer.results.price import traded_of

    untraded = result.get("no_trade")
    if not untraded:
        return None
    if untraded["is_best"]:
        if any(row.worse for row in traded_of(result)):
            return None  # beside the objective it has a cost, which the verdict names
        return (
            "The best has no significant cost, and its medians are worse in no objective metric."
        )
    terms = ", ".join(f"{name} {gain:+z.0f}" for name, gain in untraded["terms"].items())
    limits = " ".join(f'--limit "{limit}"' for limit in untraded["limits"])
    runs = "1 run" if untraded["runs"] == 1 else f"{untraded['runs']} runs"
    return (
        f"Trial {untraded['trial']} is not worse than the baseline in any objective metric, "
        f"fitness {untraded['fitness']:.0f} ({terms}; {runs}): explored, not proven"
        f"{'' if READS[0] in untraded['metrics'] else '; its reads were not measured'}. "
        f"Its file: `rocktune pick ID {limits} --out DIR`."
    )


def _fullest(result: Mapping[str, Any]) -> str | None:
    full = (result["best"] or {}).get("fullest")
    if not full:
        return None
    return (
        f"Simplified: trial {full['trial']} with {full['changes']} changes had fitness "
        f"{full['fitness']:.0f}, this one {full['best_fitness']:.0f}, each in {full['runs']} "
        f"selection run{'s' * (full['runs'] != 1)}. File of trial {full['trial']}: "
        "`rocktune options ID --fullest`."
    )


def _interval(row: Mapping[str, float], value: float) -> str:
    return f"{value:.0f} [{row['low']:z.0f}, {row['high']:z.0f}]"


def only_limits_failed(result: Mapping[str, Any]) -> bool:
    """Whether the deciding test passed, and the limits alone stand against the candidate."""
    verdict = result["verdict"] or {}
    missed = any(not row["kept"] for row in verdict.get("limits") or ())
    return missed and verdict["p"] < ALPHA and verdict["pairs"] >= LEAST_PAIRS


def limit_advice(result: Mapping[str, Any]) -> list[str]:
    """What to do about limits that are broken, or not shown to be kept: a sentence each."""
    missed = [row for row in (result["verdict"] or {}).get("limits") or () if not row["kept"]]
    unsure = [row for row in missed if row.get("standing") == OPEN and _within(row)]
    broken = [row for row in missed if row not in unsure]
    lines = []
    if unsure:
        named = [row["limit"] for row in unsure]
        lines.append(
            f"Show that {_some(named)} is kept, as the median says: "
            "more pairs (--detect 5%), a longer workload, a quieter machine (`rocktune doctor`)."
        )
    if broken:
        named = [row["limit"] for row in broken]
        lines.append(f"Loosen the limit {_some(named)}, if that is acceptable.")
    if missed:
        lines.append("See measured configurations that keep the limits: `rocktune pick ID`.")
    return lines


def _within(row: Mapping[str, Any]) -> bool:
    least, most, value = row["at_least"], row["at_most"], row["value"]
    return (
        value is not None and (least is None or value >= least) and (most is None or value <= most)
    )


def price_lines(result: Mapping[str, Any]) -> list[str]:
    """Lines on costs: losses over 20%, memory, and why reads were not measured."""
    verdict = result.get("verdict") or {}
    price = verdict.get("price") or {}  # a job of an earlier version has none
    lost, unread = price.get("losses", []), price.get("not_measured", {})
    lines = []
    changes, level = verdict.get("change", {}), (result.get("baseline") or {}).get("metrics", {})
    if lost:
        rows = ", ".join(
            f"{row['name']} {_change_words(row, row['metric'], level.get(row['metric']))}"
            for row in lost
        )
        lines.append(f"Costs over 20%: {rows}")
    amounts = {
        name: f"{metric_amount(level[name], name)} -> {metric_amount(now, name)} "
        f"({_change_words(changes[name])})"
        for name in ("memory", "peak_rss")
        if name in changes and (now := verdict["metrics"].get(name)) is not None
    }
    if len(amounts) == 2:
        lines.append(
            f"Memory configured at full scale: {amounts['memory']}; peak memory of the "
            f"measured process: {amounts['peak_rss']}"
        )
    for why in dict.fromkeys(unread.values()):
        names = [name for name, said in unread.items() if said == why]
        which = "Reads" if len(names) == len(READS) else ", ".join(names)
        lines.append(f"{which} were not measured: {why}")
    return lines


def read_lines(result: Mapping[str, Any]) -> list[str]:
    """One line with the change of each kind of read; none where reads were not measured."""
    changes = (result.get("verdict") or {}).get("change", {})
    said = ", ".join(f"{name} {_change_words(changes[name])}" for name in READS if name in changes)
    return [f"Reads of the settled trees (measured, not tuned): {said}"] if said else []


def _change_words(change: Mapping[str, Any], metric: str = "", level: float | None = None) -> str:
    """A change with its interval; of a percentage such as stalls in points over its ``level``."""
    percent, low, high = (change[part] for part in ("percent", "low", "high"))
    if is_share(metric):
        ends = f"{format_change(metric, low, level)} to {format_change(metric, high, level)}"
        return f"{format_change(metric, percent, level)} [{ends}]" if level else "from 0%"
    interval = "" if low == high else f" [{low:+.1f}, {high:+.1f}]"
    return f"{percent:+z.1f}%{interval}"


def step_words(step: Mapping[str, Any]) -> str:
    """All that changes in a step, as ``write_buffer_size 64 MiB -> 32 MiB``."""
    changes = []
    for change in step["changes"]:
        known = catalogue().get(change["name"])
        before, after = (option_value(change[side], known) for side in ("from", "to"))
        changes.append(f"{change['name']} {before} -> {after}")
    said = " and ".join(changes)
    return f"{said} (fixed by the space)" if step["fixed"] else said


def estimate_words(estimate: Mapping[str, float]) -> str:
    """A figure of fitness with its interval."""
    return f"{estimate['expected']:+z.0f} [{estimate['low']:+z.0f}, {estimate['high']:+z.0f}]"


def basis_words(explanation: Mapping[str, Any]) -> str:
    """What the figures rest on."""
    said = (
        f"Predicted by models of {explanation['trials']} trials, with 95% intervals; each step "
        "adds to those before it"
    )
    measured = explanation["measured"]
    if measured is None:
        return f"{said}. Not measured; to measure the steps: `rocktune explain ID --runs 7`."
    return f"{said}. Measured: {measured['rounds']} rounds on {measured['host']}."


def minimal_lines(explanation: Mapping[str, Any]) -> list[str]:
    """Which changes suffice."""
    minimal, measured = explanation["minimal"], explanation["measured"]
    if minimal is None:
        return ["The models do not predict a gain, so they cannot tell which changes are needed."]
    count = len(minimal["kept"]) + len(minimal["dropped"])
    if not minimal["dropped"]:
        if count == 1:
            return ["The only change is kept: the trials do not show it to be unnecessary."]
        return [f"All {count} changes are kept: the trials show none of them to be unnecessary."]
    loss = minimal["loss"]
    against = {"expected": -loss["expected"], "low": -loss["high"], "high": -loss["low"]}
    lines = [
        f"By the models, {len(minimal['kept'])} of the {count} changes suffice: "
        f"{_some(minimal['kept'])}. Not needed: {_some(minimal['dropped'])}.",
        "Predicted fitness with these changes alone, relative to the winner: "
        f"{estimate_words(against)} (allowed: {-minimal['noise']:.0f}).",
    ]
    if minimal["refused"]:
        lines.append(f"RocksDB rejects the file with the fewest changes: {minimal['refused']}.")
    judged = (measured or {}).get("minimal")
    if judged is not None:
        shown = "not worse" if judged["shown"] else "not shown to be as good"
        lines.append(f"Fewest changes, measured: {shown}; {judged['why']}.")
    return lines


def withheld_words(result: Mapping[str, Any]) -> str | None:
    """Why a winner is not explained, as a sentence; None where it is, or there is none."""
    withheld = result.get("explanation_withheld")
    return f"Explanation {withheld['why']}." if withheld else None


def _some(names: list[str]) -> str:
    if not names:
        return "none"
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
