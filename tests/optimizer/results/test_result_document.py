"""A result is read and written in one place: what it writes is what it has read."""

import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from optimizer.results.document import Result
from tests.support import ROOT
from tests.support.api.stored_job import proved, unproven

LAST_RELEASE = ROOT / "tests/data/last_release/sqlite.sql.gz"


def kept_by_the_last_release(path: Path = LAST_RELEASE) -> list[dict[str, Any]]:
    """The results in the database of the last release."""
    database = sqlite3.connect(":memory:")
    database.executescript(gzip.decompress(path.read_bytes()).decode())
    rows = database.execute("SELECT result FROM job WHERE result IS NOT NULL").fetchall()
    database.close()
    return [json.loads(text) for (text,) in rows]


def test_results_of_the_last_release_are_read_and_written_as_they_were():
    documents = kept_by_the_last_release()
    assert len(documents) == 3
    for document in documents:
        assert "shown_first" not in document and "starting_point" not in document
        result = Result.read(document)
        assert result.document() == document
        assert result.starting_point is None and result.verdict is not None


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["genetic", "greedy"])
def test_todays_results_are_read_and_written_as_they_were(strategy: str):
    finished = proved(strategy)
    for each in (finished, unproven(finished), unproven(finished, trial=None)):
        document = dict(each.result)
        result = Result.read(document)
        assert result.document() == document
        assert not result.model_extra, "every key of today's document has a field"


def test_what_a_later_version_adds_is_kept():
    document = {**proved().result, "later": {"a": 1}}
    document["verdict"] = {**document["verdict"], "scope": None, "later": [2]}
    assert Result.read(document).document() == document


def test_the_tested_fitness_of_earlier_versions_is_the_centre_of_its_interval():
    for document in kept_by_the_last_release():
        verdict = Result.read(document).verdict
        assert verdict is not None and verdict.low is not None and verdict.high is not None
        assert verdict.tested_fitness == (verdict.low + verdict.high) / 2
        assert verdict.fitness == document["verdict"]["fitness"]


def test_what_is_no_result_is_refused():
    with pytest.raises(ValidationError, match="baseline"):
        Result.read({"schema": 1})
