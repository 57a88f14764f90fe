"""What finished jobs found: the proof, the changed options, contributions, an explanation."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.render.screen import bare_table, if_known, say
from db.schema.job_row import JobKind
from jobs.report.rows import (
    TOP,
    ContributionRow,
    contribution_lines,
    contribution_rows,
    limit_lines,
    proof_rows,
    warm_start_lines,
)
from jobs.results.best_words import (
    basis_words,
    beside_lines,
    estimate_words,
    minimal_lines,
    price_lines,
    reasons,
    step_words,
    withheld_words,
)
from jobs.results.figures import metric_amount
from jobs.results.ranking_words import (
    LEAST_R2,
    anova_words,
    by_models,
    disagreement_words,
    ranked_r2,
    trust_words,
)
from optimizer.baseline.machine_effect import machine_words
from optimizer.budget.confirm_load import confirmation_words
from optimizer.budget.sample_size import percent_words, sample_size_words
from sampler.common.untrusted_text import cleaned
from sampler.parameters.catalogue import catalogue
from sampler.workload.tree_reads import COLD, READS

_MORE = ("memory", "peak_rss", "write_p99", "read_p99", *READS)
_READS_ARE = (
    f"read_..., scan_...: operations/s on both trees after each run, with {COLD} from the device; "
    "measured, not tuned"
)
_STEPS = 3
_BATCH_METRICS = ("waf", "sa", "time", "rate")


def print_outcome(console: Console, result: Mapping[str, Any]) -> None:
    """Prints the table default | best | change with intervals, and what it rests on."""
    result = cleaned(result)  # a line of another's stays one line
    verdict, best = result["verdict"], result["best"]
    if verdict is None:
        say(console, "No candidate could be measured against the baseline.")
        say(console, *(f"{line}." for line in limit_lines(result)))
        return
    console.print(_proof_table(result))
    console.print(
        f"Medians of {verdict['pairs']} fresh runs of each, in turn; "
        "changes are the pairs' geometric means with 95% intervals.",
        highlight=False,
    )
    if any(name in verdict["change"] for name in READS):
        say(console, f"{_READS_ARE}.")
    if where := confirmation_words(result.get("confirmation")):
        say(console, f"{where}.")
    if trade := verdict.get("trade"):  # a job of an earlier version has none
        say(console, Text(f"{trade}.", "bold"))
    nothing = "Nothing was proven better than the baseline"
    found = f"Trial {best['trial']} is better" if best else nothing
    say(console, Text.assemble((found, "bold"), f": {verdict['why']}."))
    say(console, *(f"{line}." for line in price_lines(result)))
    if best is not None:
        before, after = result["baseline"]["configuration"], best["configuration"]
        console.print(changed_options(before, after, reasons(result)))
        say(console, *_applied(best.get("changes") or []))
        say(console, *_explanation(result))
    say(console, *beside_lines(result))
    contributed = result.get("contributions")
    if contributed:
        print_contributions(console, contributed)
    say(console, *(f"{line}." for line in limit_lines(result)), *_power(result))
    say(console, *(f"{line}." for line in warm_start_lines(result)))
    console.print(_noise(result), highlight=False)
    if search := result.get("search"):  # a job of an earlier version has none
        say(console, f"When the search ended: {search['why']}.")
    if not contributed:  # it draws nothing to rank parameters by
        say(console, *_ranking(result))


def _applied(changes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Which changes a running database takes, and which take a restart."""
    names: dict[str, list[str]] = {}
    for row in filter(lambda row: row.get("apply"), changes):  # none in one of an earlier version
        names.setdefault(row["apply"]["call"] or "a restart", []).append(row["name"])
    if not names:
        return []
    how = "; ".join(f"by {call}: {', '.join(changed)}" for call, changed in sorted(names.items()))
    return [f"To apply it, {how}. `rocktune options ID --format setoptions` prints the calls."]


def _explanation(result: Mapping[str, Any]) -> list[str]:
    found = result.get("explanation")  # a job of an earlier version has none
    if not found:
        withheld = withheld_words(result)
        return [withheld] if withheld else []
    first = "; ".join(
        f"{step_words(step)} {estimate_words(step['gain'])}" for step in found["steps"][:_STEPS]
    )
    return [f"Why, by models (fitness of each step): {first}.", *minimal_lines(found)]


def _ranking(result: Mapping[str, Any]) -> list[str]:
    r2 = ranked_r2(result)
    known = {metric: value for metric, value in r2.items() if value is not None}
    if not known:
        few = "trials" if by_models(result) else "draws"
        return [f"What matters most: too few {few} to learn it from (at least 10 must end well)."]
    top = ", ".join(row["name"] for row in result["parameters"][:5])
    shown = ", ".join(f"{metric} {value:.2f}" for metric, value in known.items())
    more = "give it more trials" if by_models(result) else "draw more"
    doubt = "" if min(known.values()) >= LEAST_R2 else f"; do not rely on it, {more}"
    lines = [f"What matters most: {top} (R2 {shown}{doubt})."]
    if trust := trust_words(result):
        lines.append(f"How far to trust it: {'; '.join(trust)}.")
    if apart := [line.partition(";")[0] for line in disagreement_words(result)]:
        lines.append(f"Forest and process disagree: {'; '.join(apart)} (rocktune parameters).")
    if words := anova_words(result):
        lines.append(f"{words}.")
    return lines


def _proof_table(result: Mapping[str, Any]) -> Table:
    subject, terms = "best" if result["best"] else "candidate", _terms(result)
    table = bare_table(("",), ("default", subject, "change", "95% interval"))
    for row in proof_rows(result, terms):
        metric, change = row["metric"], row["change"]
        if metric in (*terms, *_MORE):
            table.add_row(
                metric.upper() if metric in terms else metric,
                metric_amount(row["default"], metric),
                metric_amount(row["best"], metric),
                f"{change['percent']:+.1f}%",
                f"{change['low']:+.1f}% to {change['high']:+.1f}%",
            )
    return table


def _power(result: Mapping[str, Any]) -> list[str]:
    """What the fresh pairs could have shown, and what was planned if a change was to be shown."""
    power = result.get("power")  # a job of an earlier version has none
    if power is None:
        return []
    smallest = power["smallest_change"]
    shown = ", ".join(
        f"{metric.upper()} {percent_words(smallest[metric])}"
        for metric in _terms(result)
        if metric in smallest
    )
    lines = [
        f"These {power['pairs']} pairs could have shown, with {100 * power['level']:.0f}% "
        f"probability, of each metric by itself: {shown}; of the fitness, which decides: "
        f"{power['fitness']:.0f}."
    ]
    if power["planned"] is not None:
        lines.append(f"Planned: {sample_size_words(power['planned'])}.")
    return lines


def _noise(result: Mapping[str, Any]) -> str:
    """One line: how steady the baseline was, metric by metric."""
    parts = []
    for metric in _terms(result):
        noise = result["baseline"]["noise"].get(metric)
        if noise and noise["spread"] is not None:
            drift = ", drifting (corrected)" if noise["drifting"] else ""
            parts.append(f"{metric} {100 * noise['spread']:.1f}%{drift}")
    machine = machine_words(result.get("machine"))
    return f"Noise of the baseline: {'; '.join(parts)}." + (f" {machine}." if machine else "")


def _terms(result: Mapping[str, Any]) -> list[str]:
    return [row["name"] for row in result["job"]["objective"]["metric"]]


def changed_options(
    baseline: Mapping[str, Any], best: Mapping[str, Any], why: Mapping[str, str] | None = None
) -> Table:
    """The options of a configuration that differ from the baseline's, and why each is there."""
    known, why = catalogue(), why or {}
    table = bare_table(("option", "default", "best", *(["why"] if why else [])))
    for name in dict.fromkeys([*best, *baseline]):
        before, after = baseline.get(name, "inactive"), best.get(name, "inactive")
        if before != after:
            factor = name in known and known[name].section == "workload"
            shown = f"{name} (workload factor)" if factor else name
            reason = [why.get(name, "")] if why else []
            table.add_row(shown, str(before), str(after), *reason)
    return table


def print_contributions(
    console: Console, found: Mapping[str, Any], *, top: int | None = TOP
) -> None:
    """Prints the top contributors, None for all, and how far the search came."""
    rows = contribution_rows(found, top)
    if rows:
        console.print(_contribution_table(rows, len(found["parameters"])))
    say(console, *contribution_lines(found))


def _contribution_table(rows: tuple[ContributionRow, ...], of: int) -> Table:
    metrics = list(dict.fromkeys(metric for row in rows for metric in row.changes))
    first = f"top {len(rows)} of {of} contributors"
    table = bare_table((first, "from", "to"), ("values", *metrics, "fitness", "share"))
    for row in rows:
        changes = [f"{row.changes[m]:+.1f}%" if m in row.changes else "" for m in metrics]
        table.add_row(
            row.name,
            row.before,
            row.after,
            str(row.values) if row.values else "",
            *changes,
            f"{row.gain:+z.0f}",
            if_known(row.share, "{:.1f}%"),
        )
    return table


def show_explanation(console: Console, explanation: Mapping[str, Any], job_id: int) -> None:
    """Prints the path as a table, which changes are enough, and what that rests on."""
    console.print(_step_table(explanation))
    say(console, *minimal_lines(explanation))
    say(console, basis_words(explanation).replace(" ID ", f" {job_id} "))


def _step_table(explanation: Mapping[str, Any]) -> Table:
    measured = (explanation["measured"] or {}).get("steps", [])
    kept = set((explanation["minimal"] or {}).get("kept", ()))
    metrics = list(explanation["steps"][0]["metrics"]) if explanation["steps"] else []
    figures = ["fitness", *(["measured"] if measured else []), *(name.upper() for name in metrics)]
    table = bare_table((), ("",), ("change",), figures, ("enough",), no_wrap=True)
    for place, step in enumerate(explanation["steps"]):
        cells = [estimate_words(step["gain"])]
        if measured:
            found = measured[place] if place < len(measured) else None
            cells.append(estimate_words(found["fitness"]) if found else "")
        cells += [f"{step['metrics'][name]['expected']:+.1f}%" for name in metrics]
        needed = any(change["name"] in kept for change in step["changes"])
        table.add_row(str(place + 1), step_words(step), *cells, "kept" if needed else "")
    total = [estimate_words(explanation["predicted"])]
    if measured:
        winner = explanation["measured"]["winner"]
        total.append(estimate_words(winner["fitness"]) if winner else "")
    table.add_row("", "all of them: the winner", *total, *("" for _ in metrics), "")
    return table


def show_told(console: Console, kind: JobKind, result: Mapping[str, Any]) -> None:
    """What an experiment found: its tables, then its findings in words."""
    from jobs.experiments.told import told_of

    told = told_of(kind, result)
    for each in told.tables:
        table, before = bare_table(*each.head), ""
        for first, *rest in each.rows:
            table.add_row("" if first == before else first, *rest)
            before = first
        console.print(table)
    say(console, *filter(None, [told.note]), *told.lines)


def batch_table(document: Mapping[str, Any]) -> Table:
    """The table of a batch.json; changes are those of the proof's fresh runs, in percent.

    Metrics that none of its jobs measured have no column.
    """
    items = document["items"]
    metrics = [name for name in _BATCH_METRICS if any(name in item["change"] for item in items)]
    figures = ("trials", "fitness", "95% interval", *(name.upper() for name in metrics))
    table = bare_table(("item",), figures, ("confirmed, or why not", "folder"))
    for item in items:
        fitness, low, high = (item["fitness"][name] for name in ("fitness", "low", "high"))
        changes = [(item["change"].get(name) or {}).get("percent") for name in metrics]
        table.add_row(
            item["item"],
            if_known(item["trials"], "{}"),
            if_known(fitness, "{:.0f}"),
            "" if low is None or high is None else f"{low:.0f} to {high:.0f}",
            *(if_known(percent, "{:+.1f}%") for percent in changes),
            _batch_verdict(item),
            item["folder"] if item["state"] == "done" else "",
        )
    return table


def _batch_verdict(item: Mapping[str, Any]) -> str:
    if item["state"] != "done":
        return f"{item['state']}: {item['error']}" if item["error"] else str(item["state"])
    if item.get("kind") not in (None, "tune"):  # an experiment: what it says
        return item["why"] or "done"
    if item["confirmed"]:
        return "yes"
    return f"no: {item['why'] or 'no candidate could be measured'}"
