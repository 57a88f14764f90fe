"""The fitness of a proof is one number in every place: that by which its test decides."""

import re
from html import unescape

import pytest
from fastapi.testclient import TestClient
from rich.console import Console
from sqlalchemy import Engine

from cli.render.outcome_screen import print_outcome
from jobs.report.artifacts import report_html
from jobs.report.options_file import describe
from jobs.specification.resolved_job import resolve
from jobs.specification.specification import specification_from_document
from optimizer.results.document import Result
from tests.support.api.browser import see
from tests.support.api.stored_job import keep, proved

pytestmark = pytest.mark.one_database


def test_every_place_tells_the_fitness_that_the_test_decides_by(
    client: TestClient, database: Engine
) -> None:
    finished = proved()
    result, jobs = finished.result, [keep(database, finished) for _ in range(2)]
    verdict = result["verdict"]
    decided = f"{(verdict['low'] + verdict['high']) / 2:,.0f}"
    assert decided != "0"
    console = Console(record=True, width=400)
    print_outcome(console, result, job=jobs[0], verbose=True)
    problem = resolve(specification_from_document(result["job"]), None).problem
    told = {
        "result.json": f"fitness {verdict['fitness']:,.0f}",
        "best": f"fitness {result['best']['fitness']:,.0f}",
        "terms": f"fitness {sum(result['best']['terms'].values()):,.0f}",
        "terminal": console.export_text(),
        "OPTIONS.ini": "\n".join(describe(problem, Result.read(result), tried=True)),
        "report": unescape(report_html(finished)),
        "page": unescape(see(client, f"/jobs/{jobs[0]}/won").text),
    }
    for place, text in told.items():
        assert re.search(rf"fitness {decided}\b", text), place
    compared = see(client, f"/compare?jobs={jobs[0]},{jobs[1]}").text
    assert compared.count(f">{decided.replace(',', '')}<") == 2
