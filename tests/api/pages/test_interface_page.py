"""The page of the interface tells of every request and every shape, and asks no other server."""

import re
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.pages.interface import holds, parameter, properties
from tests.support.api.browser import see

pytestmark = pytest.mark.one_database


def said(schema: dict[str, Any]) -> str:
    return "".join(word.text for word in holds(schema))


@pytest.mark.slow
def test_every_request_and_shape_is_told_once(client: TestClient) -> None:
    described = client.get("/openapi.json").json()
    text = unescape(see(client, "/docs").text)
    ids = re.findall(r'id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            assert f"{method.upper()} {path}</code>" in text
            assert operation["operationId"] in ids
            for field in operation.get("parameters", ()):
                assert f"<code>{field['name']}</code>" in text
    assert {f"shape-{name}" for name in described["components"]["schemas"]} <= set(ids)
    linked = set(re.findall(r'href="#([^"]+)"', text)) - {"main"}
    assert linked and linked <= set(ids), "no link leads nowhere"


@pytest.mark.slow
def test_it_asks_nobody_else(client: TestClient) -> None:
    page = see(client, "/docs")
    assert page.status_code == 200
    assert "default-src 'self'" in page.headers["content-security-policy"]
    sources = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert all(each.startswith(("/", "#", "data:")) for each in sources), sources
    assert see(client, "/redoc").status_code == 404


def test_a_schema_is_one_line() -> None:
    for schema, words in (
        ({"type": "integer", "minimum": 1, "maximum": 20_000}, "whole number from 1 to 20,000"),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "number or null"),
        ({"type": "array", "items": {"type": "string", "maxLength": 9}, "maxItems": 5},
         "list of text at most 9 characters at most 5"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "object of number"),
        ({"enum": ["read", "admin"], "type": "string"}, "read or admin"),
        ({"type": "string", "format": "date-time"}, "time (ISO 8601)"),
        ({"const": 1}, "1"), ({}, "anything"), ({"type": "object"}, "object"),
        ({"type": "number", "exclusiveMinimum": 0.5}, "number above 0.5"),
    ):  # fmt: skip
        assert said(schema) == words


def test_named_shapes_are_links_and_fields_keep_their_order() -> None:
    (word,) = holds({"$ref": "#/components/schemas/JobBrief"})
    assert (word.text, word.shape) == ("JobBrief", "JobBrief")
    shape = {
        "properties": {"b": {"type": "boolean", "default": False}, "a": {"type": "string"}},
        "required": ["a"],
    }
    first, second = properties(shape)
    assert (first.name, first.required, first.default) == ("b", False, False)
    assert (second.name, second.required, second.default) == ("a", True, None)
    asked = parameter({"name": "top", "in": "query", "schema": {"type": "integer", "default": 5}})
    assert (asked.place, asked.required, asked.default) == ("query", False, 5)
