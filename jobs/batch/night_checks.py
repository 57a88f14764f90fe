"""A night for a CI: each job a suite, each series a case, as JUnit XML and in Markdown."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from jobs.regression.detection import RegressionReport, Series
from jobs.regression.report import name_of, report_lines
from jobs.results.pages import document_html
from models.change_points import LEAST_VALUES
from sampler.common.untrusted_text import printable


@dataclass(frozen=True)
class Check:
    """One thing that a night was asked: whether a job ended well, or a series is as before."""

    name: str
    kind: Literal["passed", "failure", "error", "skipped"]
    words: str = ""  # why; of one that passed the last change of the series, if there was any


Suites = Mapping[str, list[Check]]


def checks_of_night(
    document: Mapping[str, Any], watch: RegressionReport
) -> dict[str, list[Check]]:
    """The checks of each job of a batch by item: of the job itself, then of its series.

    ``document`` is that of batch.json, ``watch`` the regression watch whose newest night it is. A
    series fails on the night on which a change for the worse is found, as `rocktune nights` does.
    """
    lines = map(printable, report_lines(watch))
    told = dict(zip((each.series for each in watch.findings), lines, strict=False))
    failed = {each.series for each in watch.found_tonight if each.worse}
    suites = {item["item"]: [_of_job(item)] for item in document["items"]}
    for series in watch.newest_series:
        if series.item in suites:
            words = told.get(series, "")
            suites[series.item].append(_of_series(watch, series, series in failed, words))
    return suites


def _of_job(item: Mapping[str, Any]) -> Check:
    if item["state"] == "done":
        return Check("job", "passed")
    why = printable(f"{item['state']}: {item['error'] or 'no reason recorded'}")
    return Check("job", "error", why)


def _of_series(watch: RegressionReport, series: Series, failed: bool, words: str) -> Check:
    name, nights = name_of(series), watch.nights_of_level(series)
    if failed:
        return Check(name, "failure", words)
    if not nights:
        return Check(name, "skipped", "no value this night")
    if nights < LEAST_VALUES:
        few = f"{nights} of {LEAST_VALUES} nights needed for a comparison"
        return Check(name, "skipped", few)
    return Check(name, "passed", words)


def junit_text(document: Mapping[str, Any], suites: Suites) -> str:
    """The checks as JUnit XML."""
    began = document["began_at"][:19]
    return document_html("junit.xml", name=document["name"], began=began, suites=suites)


def markdown_text(document: Mapping[str, Any], watch: RegressionReport, suites: Suites) -> str:
    """What the night came to in Markdown, for the summary of a CI's run."""
    verdict = "no regression found" if watch.tested else "nothing to compare yet"
    name, lines = document["name"], report_lines(watch)
    told = zip(watch.findings, lines, strict=False)
    tonight = [line for found, line in told if found in watch.found_tonight]
    tonight += [
        f"{item}: {check.words}" for item, (check, *_) in suites.items() if check.kind == "error"
    ]
    rows = []
    for item, (job, *series) in suites.items():
        kinds = [check.kind for check in series]
        worse = ", ".join(check.name for check in series if check.kind == "failure")
        few = kinds.count("skipped")
        ended = "done" if job.kind == "passed" else "failed"
        rows.append((_safe(item), ended, _safe(worse), str(len(kinds) - few), str(few)))
    head = ("job", "ended", "worse", "compared", "not compared"), ("---",) * 3 + ("--:",) * 2
    return "\n".join(
        [
            f"## {_safe(name)}: {'**regression**' if watch.worsened else verdict}\n",
            *(f"- {_safe(line)}" for line in tonight),
            "",
            *(f"| {' | '.join(row)} |" for row in (*head, *rows)),
            f"\n{_safe(lines[-1])}. `rocktune nights {name}` shows all nights.\n",
        ]
    )


def _safe(text: str) -> str:
    """Text that is nothing but text in Markdown: no entity opens a table, a link or a tag."""
    return re.sub(r"[^A-Za-z0-9 .,:;%+()/-]", lambda m: f"&#{ord(m[0])};", printable(text))
