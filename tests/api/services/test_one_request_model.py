"""A job is asked for by one model: over HTTP, in a nightly.toml, in the form, at the terminal."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from typer.main import get_command

from api.pages.new_job import form_fields
from api.schemas.job_schemas import JobChange, JobCreate
from api.schemas.schedule_schemas import BatchAsked, BatchJob
from cli.main import app
from cli.options.job_options import option_of
from db.schema.job_row import JobKind
from jobs.batch.batch_plan import SETTINGS
from jobs.specification.named_files import specify
from jobs.specification.request import JobRequest
from jobs.specification.specification import Specification, specification_from_document

# What clients of earlier versions send, as the description of the interface names it.
SENT = {
    "baseline": "db_bench | library | null", "baseline_options": "null | string",
    "confirm_scale": "integer | null", "cutoff": "null | number", "db_bench": "null | string",
    "detect": "null | number | string", "drop_unknown": "boolean | null",
    "fitness": "null | number", "generations": "integer | null", "host_kind": "null | string",
    "limits": "list of string | null", "memory": "integer | null | string",
    "minutes": "null | number", "objective": "object | string", "over": "list of string | null",
    "priority": "integer", "samples": "integer | null", "scale": "integer | null",
    "seed": "integer", "space": "object | string",
    "start_from": "list of StartFile | string | null", "stop_early": "boolean | null",
    "strategy": "string", "top": "integer | null", "trials": "integer | null",
    "warm_start": "auto | none | integer | null", "workload": "string",
}  # fmt: skip
# What a job did not keep in the first version.
CAME_LATER = (
    "column_family", "confirm_scale", "db_bench", "drop_unknown", "host_kind", "start_from",
    "warm_start",
)  # fmt: skip


def told(schema: Mapping[str, Any]) -> str:
    """The type of a field in words."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " | ".join(sorted(map(told, schema["anyOf"])))
    if "enum" in schema:
        return " | ".join(sorted(schema["enum"]))
    if schema["type"] == "array":
        return f"list of {told(schema['items'])}"
    return str(schema["type"])


@pytest.mark.parametrize("body", [JobCreate, JobChange, BatchJob, BatchAsked])
def test_what_clients_send_is_still_taken(body: type[JobRequest]) -> None:
    fields = body.model_json_schema()["properties"]
    assert {name: told(fields[name]) for name in SENT} == SENT
    assert {name for name in JobRequest.model_fields if name not in fields} == set()


def test_a_field_is_explained_once_and_is_a_setting_of_every_door() -> None:
    form = form_fields(JobKind.TUNE, SimpleNamespace(workloads={}))  # type: ignore[arg-type]
    shown = [each.name for part in form for each in part]
    command: Any = get_command(app)
    options = [option for each in command.commands["submit"].params for option in each.opts]
    for name, field in JobRequest.model_fields.items():
        assert field.description and shown.count(name) == 1
        assert name in SETTINGS | {"priority", "baseline_options"}
        assert name == "baseline_options" or option_of(name) in options


def test_the_settings_of_a_job_are_stored_under_the_names_that_ask_for_them() -> None:
    # What nobody asks for: whose space it is, the search's own settings, the threads of where it
    # was made, the version of the database that its build was chosen for.
    kept = set(Specification.model_fields) - {"shipped_space", "search", "cores", "chosen_for"}
    assert kept < set(JobRequest.model_fields)


@pytest.mark.parametrize("left_out", CAME_LATER)
def test_a_job_of_an_earlier_version_is_read_as_it_was(left_out: str) -> None:
    today = specify(trials=50, seed=3, strategy="genetic")
    older = {name: value for name, value in today.document().items() if name != left_out}
    assert specification_from_document(older) == today
    assert specification_from_document(older).digest() == today.digest()


def test_what_a_job_keeps_survives_storage() -> None:
    asked = specify(
        trials=50, minutes=None, scale=32, confirm_scale=8, warm_start=12, host_kind="nvme",
        db_bench="new", drop_unknown=True, memory=2**30, start_from=["level-style"],
    )  # fmt: skip
    document = asked.document()
    assert {name: document[name] for name in ("confirm_scale", "warm_start", "memory")} == {
        "confirm_scale": 8, "warm_start": 12, "memory": 2**30,
    }  # fmt: skip
    assert specification_from_document(document) == asked
