"""What finished jobs found: the proof, the changed options, contributions, an explanation."""

from collections.abc import Mapping
from pathlib import Path
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
    marks_words,
    proof_rows,
    trade_rows,
    warm_start_lines,
)
from jobs.results.best_words import (
    basis_words,
    estimate_words,
    limit_advice,
    minimal_lines,
    numbered,
    only_limits_failed,
    other_candidate_lines,
    price_lines,
    special_words,
    starting_point_lines,
    step_words,
    tested_fitness,
    withheld_words,
)
from jobs.results.figures import metric_amount, moved
from jobs.results.option_changes import changed_options
from jobs.results.ranking_words import (
    LEAST_R2,
    anova_words,
    by_models,
    disagreement_words,
    ranked_r2,
    trust_words,
)
from optimizer.baseline.machine_effect import machine_words
from optimizer.budget.budget import confirmation_words
from optimizer.budget.sample_size import percent_words, sample_size_words
from sampler.common.untrusted_text import cleaned
from sampler.workload.metric_table import shown_in
from sampler.workload.tree_reads import COLD, READS

_READS_ARE = (
    "read_..., scan_...: operations/s on the database that each side left, "
    f"...{COLD} with nothing in the page cache; not tuned."
)
_STEPS = 3
_WIDE = 100  # columns of a terminal
_STYLES = {"better": "green", "worse": "red", "not significant": "dim"}


def print_outcome(
    console: Console,
    result: Mapping[str, Any],
    *,
    job: int | None = None,
    out: Path | None = None,
    place: str | None = None,
    verbose: bool = False,
) -> None:
    """Prints the verdict, the measured changes, the changed options and what to do next.

    ``job`` and ``out``, its number and folder, complete the commands, as does ``place``, the
    option that names where the job is kept. ``verbose`` adds how it was measured, why the winner
    wins, and what matters.
    """
    result = cleaned(result)  # a line of another's stays one line
    verdict, best = result["verdict"], result["best"]
    shown = "ID" if job is None else str(job)
    if verdict is None:
        say(console, Text("No candidate could be measured against the baseline.", "bold"))
        say(console, *(f"{line}." for line in limit_lines(result)))
        say(console, "", Text("Next", "bold"), "  Check the machine: `rocktune doctor`.")
        return
    say(console, *_verdict(result))
    say(console, "")
    console.print(_proof_table(result))
    say(console, *filter(None, [marks_words(trade_rows(result))]))
    if any(name in verdict["change"] for name in READS):
        say(console, _READS_ARE)
    if best is not None:
        before, after = result["baseline"]["configuration"], best["configuration"]
        say(console, "")
        print_changed_options(console, before, after, _gains(best))
    if contributed := result.get("contributions"):  # its strategy has nothing to rank by
        print_contributions(console, contributed)
    ranking, start = [] if contributed else _ranking(result), starting_point_lines(result)
    say(console, "", *(f"{line}." for line in limit_lines(result)), *start)
    say(console, *_power(result), *ranking[:1])
    if verbose:
        say(console, *(numbered(line, shown) for line in _details(result)))
        say(console, *ranking[1:])
    say(console, "", Text("Next", "bold"))
    steps = [numbered(step, shown) for step in _next_steps(result, out, verbose=verbose)]
    steps += [f"Give these commands the same {place}."] if place else []
    say(console, *(f"  {step}" for step in steps))


def _verdict(result: Mapping[str, Any]) -> list[str | Text]:
    """Better or not, at what cost, and the test that says so: a line each."""
    verdict, best = result["verdict"], result["best"]
    better = "Better" if best else "Nothing was proven better"
    trade = verdict.get("trade") or f"{better} than the baseline"  # an earlier version has none
    lines = [Text(f"{part[:1].upper()}{part[1:]}.", "bold") for part in trade.split("; ")]
    test, trial = ("Proof", best["trial"]) if best else ("Test", verdict.get("trial"))
    of = "" if trial is None else f"trial {trial}, "
    return [*lines, f"{test}: {of}{verdict['why']}."]


def _gains(best: Mapping[str, Any]) -> dict[str, str]:
    """By changed option, what it gains by the models, or what it follows."""
    return {
        row["name"]: estimate_words(row["gain"]) if row.get("gain") else row["reason"]
        for row in best.get("changes") or ()
    }


def _details(result: Mapping[str, Any]) -> list[str]:
    """How it was measured, why the winner wins, what else was found."""
    where = confirmation_words(result.get("confirmation"))
    ended = (result.get("search") or {}).get("why")  # a job of an earlier version has none
    return [
        f"Medians of {result['verdict']['pairs']} interleaved runs of each side; changes are "
        "geometric means of the pairs' ratios, with 95% intervals.",
        *([f"{where}."] if where else []),
        *(f"{line}." for line in price_lines(result)),
        *(_explanation(result) if result["best"] else []),
        *other_candidate_lines(result),
        *(f"{line}." for line in warm_start_lines(result)),
        _noise(result),
        *([f"When the search ended: {ended}."] if ended else []),
    ]


def _next_steps(result: Mapping[str, Any], out: Path | None, *, verbose: bool) -> list[str]:
    """Commands that go on from here, and how a running database takes the changes."""
    export = result.get("export") or {}
    if refused := export.get("refused"):
        steps = [] if out else [f"There is no OPTIONS file: {refused}."]  # `tune` ends with it
    elif result["best"]:
        file = f"{out}/OPTIONS.ini" if out else "the file of `rocktune options ID`"
        named = export.get("application")  # none in a job of an earlier version
        own = f": {', '.join(named)} (first lines of the file)" if named else ""
        steps = [
            f"Set in your program what no OPTIONS file holds{own}.",
            f"Open a copy of your database with {file}, and run your load on it.",
        ]
        at_once: list[str] = []
        restart: list[str] = []
        for row in result["best"].get("changes") or []:
            if row.get("apply"):  # none in a job of an earlier version
                (at_once if row["apply"]["call"] else restart).append(row["name"])
        if at_once:
            later = f"; these need a restart or more: {', '.join(restart)}" if restart else ""
            steps.append(
                "Change a running database: `rocktune options ID --format setoptions` prints the "
                f"calls{later}."
            )
        elif restart:
            steps.append(f"These changes need a restart or more: {', '.join(restart)}.")
    else:
        limits, best = limit_advice(result), "`rocktune pick ID`"
        steps = [*limits, "Search more: more --trials."]
        if not only_limits_failed(result):
            steps.insert(
                len(limits),
                "Prove smaller changes: more pairs (--detect 5%), a longer workload, or a quieter "
                "machine (`rocktune doctor`).",
            )
        if not limits:
            steps.append(f"See the best measured configurations, not proven: {best}.")
    steps.append(
        f"See the plots: {out}/report.html" if out else "See the plots: `rocktune report ID`"
    )
    return steps if verbose else [*steps, "See how it was measured: `rocktune show ID --verbose`"]


def _explanation(result: Mapping[str, Any]) -> list[str]:
    found = result.get("explanation")  # a job of an earlier version has none
    if not found:
        withheld = withheld_words(result)
        return [withheld] if withheld else []
    first = "; ".join(
        f"{step_words(step)} {estimate_words(step['gain'])}" for step in found["steps"][:_STEPS]
    )
    return [f"Largest gains in fitness, by models: {first}.", *minimal_lines(found)]


def _ranking(result: Mapping[str, Any]) -> list[str]:
    r2 = ranked_r2(result)
    known = {metric: value for metric, value in r2.items() if value is not None}
    of = "trials" if by_models(result) else "random configurations"
    if not known:
        return [f"Most important parameters: unknown, too few {of} (at least 10 must succeed)."]
    top = ", ".join(row["name"] for row in result["parameters"][:5])
    shown = ", ".join(f"{metric} {value:.2f}" for metric, value in known.items())
    doubt = "" if min(known.values()) >= LEAST_R2 else f"; unreliable, needs more {of}"
    lines = [
        f"Most important parameters, changed or not: {top} (R2 on unseen trials: {shown}{doubt})."
    ]
    if trust := trust_words(result):
        lines.append(f"How far to trust the order: {'; '.join(trust)}.")
    if apart := [line.partition(";")[0] for line in disagreement_words(result)]:
        lines.append(f"Forest and process disagree: {'; '.join(apart)} (rocktune parameters).")
    if words := anova_words(result):
        lines.append(f"{words}.")
    return lines


def _proof_table(result: Mapping[str, Any]) -> Table:
    subject, terms = "best" if result["best"] else "candidate", _terms(result)
    marks = {row["metric"]: row["mark"] for row in trade_rows(result)}
    heads = ("baseline", subject, "change", "95% interval")
    table = bare_table(("",), heads, no_wrap=True)
    table.add_column("")  # alone it gives way
    table.columns[0].no_wrap = True  # a name is copied
    for row in proof_rows(result, terms):
        metric = row["metric"]
        if metric in (*terms, *shown_in("terminal")):
            table.add_row(
                metric.upper() if metric in terms else metric,
                metric_amount(row["default"], metric),
                metric_amount(row["best"], metric),
                moved(row, "percent"),
                f"[{', '.join(_bare(moved(row, end)) for end in ('low', 'high'))}]",
                Text(mark := marks.get(metric, ""), _STYLES.get(mark, "")),
            )
    return table


def _bare(change: str) -> str:
    return change.removesuffix("%").removesuffix(" points")


def _power(result: Mapping[str, Any]) -> list[str]:
    """The smallest change that the proof shows, and what was planned for one."""
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
        f"Minimum detectable change ({100 * power['level']:.0f}% power, {power['pairs']} pairs): "
        f"{shown}; fitness {power['fitness']:.0f}."
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


def print_changed_options(
    console: Console,
    baseline: Mapping[str, Any],
    best: Mapping[str, Any],
    gains: Mapping[str, str] | None = None,
) -> None:
    """Prints the options that a configuration changes, and what each gains in fitness.

    Those that another option turns off follow in one line.
    """
    table = bare_table(("option",))
    table.columns[0].no_wrap = True  # a name is copied
    for side in ("baseline", "best"):  # narrow, so that the gain has its room
        most = None if console.width >= _WIDE else 10
        table.add_column(side, justify="right", overflow="fold", max_width=most)
    if gains:
        table.add_column("fitness gain by models", overflow="fold")
    changed = changed_options(baseline, best)
    for each in changed:
        if each.name in best:
            told = f"{each.name} (property of the load)" if each.factor else each.name
            gain = [gains.get(each.name, "")] if gains else []
            table.add_row(told, each.before, each.after, *gain)
    console.print(table)
    off = [each.name for each in changed if each.name not in best]
    say(console, *[f"Inactive now: {', '.join(off)}."] * bool(off))
    special = [special_words(each.name, best[each.name]) for each in changed if each.name in best]
    say(console, *filter(None, special))


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
    say(console, numbered(basis_words(explanation), job_id))


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
    """The table of a batch.json; fitness and changes, in percent, are those that the proof tested.

    Metrics that none of its jobs measured have no column.
    """
    items = document["items"]
    metrics = [name for name in shown_in("batch") if any(name in item["change"] for item in items)]
    figures = ("trials", "fitness", "95% interval", *(name.upper() for name in metrics))
    table = bare_table(("job",), figures, ("proven, or why not", "folder"))
    for item in items:
        fitness = tested_fitness(item["fitness"])
        low, high = (item["fitness"][name] for name in ("low", "high"))
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
