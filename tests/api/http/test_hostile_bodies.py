"""Bodies that are made to break something: each is a problem document, and none a 500."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from jobs.queue.service_settings import ServiceSettings
from tests.support.api.callers import (
    EXTERNAL,
    OBJECTIVE,
    SPACE,
    errors_of,
    require_problem,
    send,
    submit,
)

BAD_TEXTS = ("\ud800", "a\0b", "\x1b[31m", "x" * 5000, "\u202e", "")
BAD_VALUES: list[Any] = [
    *BAD_TEXTS, 10**400, -(2**63), 1e308, 5e-324, float("nan"), float("-inf"), True, None, [], {},
    [[None]], {"a": 1}, [10**400], ["\ud800"], -1, 0, 1.5,
]  # fmt: skip
JOB_FIELDS = (
    "workload", "space", "objective", "strategy", "baseline", "baseline_options", "trials",
    "minutes", "memory", "scale", "seed", "top", "generations", "fitness", "stop_early",
    "priority", "unknown", "\ud800", "\0",
)  # fmt: skip
# What each type of parameter reads in its own way, and what all of them read alike.
OWN_FIELDS = ("type", "low", "high", "default", "choices", "log", "special", "multiple_of")
PARAMETER_FIELDS = (
    *OWN_FIELDS, "name", "help", "searched", "floor", "ceiling", "active_if", "section", "unknown",
    "\ud800",
)  # fmt: skip
TERM = OBJECTIVE["metric"][0]
PLACES: dict[str, Callable[[str, Any], dict[str, Any]]] = {
    "job": lambda field, value: {**EXTERNAL, field: value},
    "int": lambda field, value: _with({**SPACE["parameter"][0], field: value}),
    "float": lambda field, value: _with({**SPACE["parameter"][0], "type": "float", field: value}),
    "cat": lambda field, value: _with(
        {"name": "codec", "type": "cat", "choices": ["a", "b"], field: value}
    ),
    "space": lambda field, value: {**EXTERNAL, "space": {**SPACE, field: value}},
    "objective": lambda field, value: {**EXTERNAL, "objective": {**OBJECTIVE, field: value}},
    "term": lambda field, value: {
        **EXTERNAL, "objective": {"name": "o", "metric": [{**TERM, field: value}]}
    },
    "limit": lambda field, value: {
        **EXTERNAL, "objective": {**OBJECTIVE, "limit": [{"metric": "rate", field: value}]}
    },
}  # fmt: skip
FIELDS = {
    "job": JOB_FIELDS,
    "int": PARAMETER_FIELDS,
    **dict.fromkeys(("float", "cat"), OWN_FIELDS),
    "space": ("name", "help", "baseline", "memory_budget", "fixed", "parameter"),
    "objective": ("name", "help", "pareto", "metric", "limit"),
    "term": ("name", "direction", "weight"),
    "limit": ("metric", "at_most", "at_least"),
}


def _with(parameter: dict[str, Any]) -> dict[str, Any]:
    return {**EXTERNAL, "space": {"name": "mine", "parameter": [parameter]}}


def require_answered(answer: Any) -> None:
    if answer.status_code == 422:
        errors_of(answer)
    else:
        assert answer.status_code in (200, 201), answer.text


def once(place: str) -> Any:
    """On both databases what is stored as it is sent; the rest is refused above them."""
    stored = place in ("job", "int")
    return place if stored else pytest.param(place, marks=pytest.mark.one_database)


@pytest.mark.slow
@pytest.mark.parametrize("place", [once(place) for place in PLACES])
def test_no_value_of_any_field_breaks_the_submission(hurried: TestClient, place: str) -> None:
    client = hurried
    for field in FIELDS[place]:
        for value in BAD_VALUES:
            answer = send(client, "/v1/jobs", PLACES[place](field, value))
            try:
                require_answered(answer)
                if answer.status_code == 201:  # what was taken can be shown, listed and run
                    job = answer.json()["id"]
                    assert client.get(f"/v1/jobs/{job}").status_code == 200
                    require_answered(send(client, f"/v1/jobs/{job}/suggestions", {"count": 2}))
                    client.post(f"/v1/jobs/{job}/cancel")
            except AssertionError as error:
                raise AssertionError(f"{field!r}: {value!r:.40}: {error}") from None
    assert client.get("/v1/jobs", params={"limit": 1000}).status_code == 200


@pytest.mark.slow
def test_no_value_of_any_field_breaks_a_telling(hurried: TestClient) -> None:
    client = hurried
    job, other = submit(client, EXTERNAL), submit(client, EXTERNAL)
    right = {"baseline": True, "metrics": {"rate": 1.0}}
    send(client, f"/v1/jobs/{job}/trials", {"trials": [right]})
    for field in ("number", "attempt", "baseline", "configuration", "state", "metrics", "failure",
                  "host", "bench_seconds", "unknown", "\ud800"):  # fmt: skip
        for value in BAD_VALUES:
            told = {"configuration": {"batch": 3}, "metrics": {"rate": 1.0}, field: value}
            require_answered(send(client, f"/v1/jobs/{job}/trials", {"trials": [told]}))
    for value in BAD_VALUES:
        for metrics in ({"rate": value}, {"rate": 1.0, "more": value}):
            told = {"configuration": {"batch": 4}, "metrics": metrics}
            require_answered(send(client, f"/v1/jobs/{job}/trials", {"trials": [told]}))
        for asked in ({"count": value}, {"reclaim_seconds": value}):
            require_answered(send(client, f"/v1/jobs/{other}/suggestions", asked))
    for name in BAD_TEXTS:
        told = {"configuration": {"batch": 5}, "metrics": {"rate": 1.0, name: 1.0}}
        require_answered(send(client, f"/v1/jobs/{job}/trials", {"trials": [told]}))
    for kind in ("application/json", "text/csv", "application/x-ndjson",
                 "application/vnd.apache.parquet"):  # fmt: skip
        answer = client.get(f"/v1/jobs/{job}/trials", headers={"Accept": kind})
        assert answer.status_code == 200


def test_what_is_no_job_is_refused(anyone: TestClient) -> None:
    for body, status in (
        (b"", 422),
        (b"{", 422),
        (b"[]", 422),
        (b"null", 422),
        (b'"x"', 422),
        (b'{"workload": "external"} x', 422),
        (b"\xff\xfe\xfd", 400),
        (b'{"workload": "\xff"}', 400),
        (b"[" * 100_000, 400),
        (b'{"workload":' * 50_000, 400),
        (b'{"seed": ' + b"9" * 5000 + b"}", 400),
        (b'{"workload": "external", "space": ' + b'{"a":' * 900 + b"1" + b"}" * 901, 422),
        (b'{"workload": "external", "space": {"name": ' + b"[" * 300 + b"]" * 300 + b"}}", 422),
        (json.dumps({**EXTERNAL, "space": {"name": list(range(501))}}).encode(), 422),
        (b'{"workload": "external", "workload": "nope"}', 422),
    ):
        answer = send(anyone, "/v1/jobs", body)
        assert answer.status_code == status
        require_problem(answer)
        assert len(answer.content) < 5000, "what is wrong is not repeated at length"


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "",
        "json",
        "x/json",
    ],
)
def test_a_body_of_another_kind_is_not_read_as_json(anyone: TestClient, kind: str) -> None:
    text = json.dumps(EXTERNAL)
    answer = anyone.post("/v1/jobs", content=text, headers={"Content-Type": kind})
    assert errors_of(answer).keys() == {"body"}


def test_a_body_that_is_too_large_is_refused(served: Callable[..., TestClient]) -> None:
    client = served(ServiceSettings(most_body_bytes=2000))

    def chunks(count: int) -> Iterator[bytes]:
        yield b'{"workload": "external", "unknown": "'
        yield from [b"x" * 100] * count
        yield b'"}'

    def declared(size: int) -> Any:
        return {"content": b"x" * size, "headers": {"Content-Type": "application/json"}}

    chunked = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    assert errors_of(client.post("/v1/jobs", content=chunks(10), headers=chunked))
    for answer in (
        client.post("/v1/jobs", content=chunks(50), headers=chunked),
        client.post("/v1/jobs", **declared(2001)),
        client.post("/v1/jobs/1/clone", **declared(9999)),
        client.post("/v1/jobs/1/cancel", **declared(9999)),
        client.post("/nowhere", **declared(9999)),
        client.request("GET", "/v1/jobs", **declared(9999)),
    ):
        assert answer.status_code == 413
        assert "larger than 2,000 bytes" in require_problem(answer)["detail"]
    assert client.post("/v1/jobs", **declared(2000)).status_code == 422
    lying = {"Content-Type": "application/json", "Content-Length": "9" * 30}
    assert client.post("/v1/jobs", content=b"{}", headers=lying).status_code == 413


@pytest.mark.parametrize(
    "path",
    [
        "/jobs/", "/nowhere", "/v1", "/v1/jobs/", "/v1/jobs/1/", "/v1/jobs//1",
        "/v1/jobs/../../etc", "/v1/jobs/%2e%2e%2f", "/v1/jobs/1/nowhere", "/%00", "/v1/jobs/%ff",
        "/v1/jobs/1%00", "/v1/jobs/" + "9" * 5000, "/v1/jobs/1.5", "/v1/jobs/-1",
        "/v1/jobs/%D9%A1", "/v1/jobs/nan",
    ],
)  # fmt: skip
def test_a_place_that_is_none_is_a_problem_and_no_redirect(anyone: TestClient, path: str) -> None:
    answer = anyone.get(path, follow_redirects=False)
    assert answer.status_code in (404, 422), answer.status_code
    require_problem(answer)


@pytest.mark.slow
def test_a_method_that_is_none_is_told_those_that_are(anyone: TestClient) -> None:
    for path, methods in (
        ("/v1/jobs", "GET, POST"), ("/v1/jobs/1", "DELETE, GET"), ("/v1/jobs/1/cancel", "POST")
    ):  # fmt: skip
        answer = anyone.put(path)
        assert (answer.status_code, answer.headers["allow"]) == (405, methods)
        require_problem(answer)
