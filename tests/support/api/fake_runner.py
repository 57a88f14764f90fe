"""A runner of the user's own that measures nothing: it asks, makes metrics up, and tells."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

from fastapi.testclient import TestClient

Suggestion = dict[str, Any]
Outcome = dict[str, Any]


def measure(suggestion: Suggestion) -> Outcome:
    """A larger batch is faster; and each run is a little different."""
    noise = suggestion["number"] * 37 % 11
    rate = 1000.0 + 10 * suggestion["configuration"]["batch"] + noise
    return {"number": suggestion["number"], "metrics": {"rate": rate, "extra": 1.5}}


def ask(client: TestClient, job: int, **body: Any) -> dict[str, Any]:
    answer = client.post(f"/v1/jobs/{job}/suggestions", json=body)
    assert answer.status_code == 200, answer.text
    asked: dict[str, Any] = answer.json()
    return asked


def tell(client: TestClient, job: int, *told: Outcome) -> list[dict[str, Any]]:
    answer = client.post(f"/v1/jobs/{job}/trials", json={"trials": told})
    assert answer.status_code == 200, answer.text
    kept: list[dict[str, Any]] = answer.json()["trials"]
    return kept


def drive(
    clients: Sequence[TestClient],
    job: int,
    *,
    at_once: int,
    outcome: Callable[[Suggestion], Outcome] = measure,
) -> list[Suggestion]:
    """Runs a job to its end, the newest suggestion told first; each call goes to the next client.

    Returns:
        What was suggested, in order.
    """
    turns = _turns(clients)
    suggested: list[Suggestion] = []
    for _ in count():
        asked = ask(next(turns), job, count=at_once)
        if asked["complete"]:
            assert asked["suggestions"] == []
            return suggested
        assert asked["suggestions"] and asked["why"]
        suggested += asked["suggestions"]
        for suggestion in reversed(asked["suggestions"]):
            tell(next(turns), job, outcome(suggestion))
    raise AssertionError


def _turns(clients: Sequence[TestClient]) -> Iterator[TestClient]:
    return (clients[index % len(clients)] for index in count())
