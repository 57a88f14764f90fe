"""`GET /v1/guide`: the worked example, and every wrong field named."""

import pytest
from fastapi.testclient import TestClient

from tests.support.api.callers import require_problem

pytestmark = pytest.mark.one_database

EXAMPLE = {"keys": "8e9", "key_size": "20", "value_size": "800", "cpu_threads": "48",
           "memory": "128GB"}  # fmt: skip


def test_the_worked_example(anyone: TestClient) -> None:
    answer = anyone.get("/v1/guide", params=EXAMPLE)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["planned"]["open_files"] == 80_000
    assert found["settings"]["max_write_buffer_number"] == 13
    assert found["settings"]["max_bytes_for_level_base"] == 64_000_000
    assert found["levels"][5] == {"level": 6, "files": 262_144, "bytes": 2_097_152_000_000}
    assert found["translated"]["enable_blob_files"] is True
    assert found["warnings"] == []
    assert "vlogfile_max_size=160000000" in found["options"]["OPTIONS.trocksdb.ini"]
    fewer = anyone.get("/v1/guide", params={**EXAMPLE, "open_files": "40000"}).json()
    assert [each["setting"] for each in fewer["warnings"]] == [
        "max_bytes_for_level_base", "target_file_size_base",
    ]  # fmt: skip


def test_a_wrong_field_is_named(anyone: TestClient) -> None:
    for wrong, field, said in (
        ({"keys": "many"}, "keys", "is not a whole number"),
        ({"open_files": "1"}, "open_files", "is out of range, 2 to"),
        ({"value_size": "1" * 41}, "value_size", "has more than 40 characters"),
        ({"keys": None}, "keys", "is missing; add it"),
    ):
        given = {name: text for name, text in {**EXAMPLE, **wrong}.items() if text is not None}
        answer = anyone.get("/v1/guide", params=given)
        assert answer.status_code == 422
        (error,) = require_problem(answer)["errors"]
        assert error["field"] == field and said in error["problem"]
