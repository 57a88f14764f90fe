"""Workloads that were sent to the service, as they are kept."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from db import workloads
from db.workloads import (
    WorkloadRefused,
    find_workload,
    keep_workload,
    remove_workload,
    workload_documents,
)
from tests.support.db.threads import at_once

DOCUMENT = {"name": "my-db", "num": 1000, "compression_ratio": 0.5, "flags": {"duration": 5}}
OTHER = {**DOCUMENT, "num": 2000}
PROFILE = {"families": [{"name": "default", "key_size": 16.0}]}


def test_one_comes_back_as_it_was_sent(database: Engine):
    told = {"profile": PROFILE, "baseline_options": "[DBOptions]\n"}
    assert keep_workload(database, DOCUMENT, submitter="ci", **told)  # type: ignore[arg-type]
    keep_workload(database, {**DOCUMENT, "name": "another"})
    row = find_workload(database, "my-db")
    assert (row.document, row.profile, row.submitter) == (DOCUMENT, PROFILE, "ci")
    assert row.baseline_options == "[DBOptions]\n"
    assert abs(row.uploaded_at - datetime.now(UTC)) < timedelta(minutes=1)
    plain = find_workload(database, "another")
    assert plain is not None and plain.profile is plain.baseline_options is plain.submitter is None
    assert list(workload_documents(database)) == ["another", "my-db"]
    assert workload_documents(database)["my-db"] == DOCUMENT
    assert find_workload(database, "My-db") is None


def test_the_same_again_changes_nothing(database: Engine):
    assert keep_workload(database, DOCUMENT, profile=PROFILE, submitter="ci")
    before = find_workload(database, "my-db")
    assert not keep_workload(database, DOCUMENT, profile=PROFILE, submitter="other")
    assert not keep_workload(database, DOCUMENT, submitter="other", replace=True)
    assert find_workload(database, "my-db") == before


@pytest.mark.parametrize(
    "changed", [{"document": OTHER}, {"profile": {"families": []}}, {"baseline_options": "[x]"}]
)
def test_another_of_the_name_stands_instead_only_where_it_is_asked_for(
    database: Engine, changed: dict[str, object]
):
    keep_workload(database, DOCUMENT, profile=PROFILE, submitter="ci")
    before = find_workload(database, "my-db")
    sent = {"document": DOCUMENT, "submitter": "other", **changed}
    with pytest.raises(WorkloadRefused, match="'my-db' is taken by another workload, sent by ci"):
        keep_workload(database, **sent)  # type: ignore[arg-type]
    assert find_workload(database, "my-db") == before
    assert not keep_workload(database, **sent, replace=True)  # type: ignore[arg-type]
    after = find_workload(database, "my-db")
    assert after.submitter == "other" and after.uploaded_at > before.uploaded_at
    for name, value in changed.items():
        assert getattr(after, name) == value
    assert "profile" in changed or after.profile is None, "it was of the one before"


def test_there_is_an_end_to_how_many(database: Engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(workloads, "MOST_WORKLOADS", 2)
    for name in "ab":
        keep_workload(database, {**DOCUMENT, "name": name})
    with pytest.raises(WorkloadRefused, match="the limit is 2 workloads; delete one"):
        keep_workload(database, {**DOCUMENT, "name": "c"})
    assert not keep_workload(database, {**OTHER, "name": "b"}, replace=True)
    assert remove_workload(database, "a") and not remove_workload(database, "a")
    assert keep_workload(database, {**DOCUMENT, "name": "c"})


def test_what_is_not_finite_is_refused(database: Engine):
    with pytest.raises(ValueError, match=r"profile\.x is nan"):
        keep_workload(database, DOCUMENT, profile={"x": float("nan")})
    assert workload_documents(database) == {}


def test_of_several_who_send_at_once_one_is_first(
    database: Engine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(workloads, "MOST_WORKLOADS", 2)
    keep_workload(database, {**DOCUMENT, "name": "there"})

    def send(number: int) -> bool:
        return keep_workload(database, {**DOCUMENT, "name": f"w{number % 2}", "num": number})

    sent = at_once(send, range(1, 9))
    assert sent.count(True) == 1
    assert sum(isinstance(each, WorkloadRefused) for each in sent) == 7
    assert len(workload_documents(database)) == 2
