"""compose.yaml: against the published schema, and what a plain `up` starts, as processes."""

import importlib.resources
import json
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import ROOT
from tests.support.cli.launched import ROCKTUNE, forked
from tests.support.cluster.command_lines import changed, not_taken, schema_errors
from tests.support.jobs.service_desk import ServiceDesk, status_of

Document = dict[str, Any]
SCHEMA = importlib.resources.files("check_jsonschema") / "builtin_schemas/vendor/compose-spec.json"


def read() -> Document:
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


@pytest.fixture
def compose() -> Document:
    return read()


def errors(document: Document) -> list[str]:
    return schema_errors(json.loads(SCHEMA.read_text()), document)


def started_by_up(compose: Document) -> dict[str, Document]:
    """The services that a plain `up` starts, each after those that it waits for."""
    services = {name: each for name, each in compose["services"].items() if "profiles" not in each}
    before = {name: set(each.get("depends_on", {})) for name, each in services.items()}
    return {name: services[name] for name in TopologicalSorter(before).static_order()}


def waited_for(name: str, services: dict[str, Document]) -> Iterator[tuple[str, str]]:
    """All that a service waits for, also by way of others, and until when."""
    for other, how in services[name].get("depends_on", {}).items():
        yield other, how["condition"]
        yield from waited_for(other, services)


def test_the_file_is_what_the_specification_of_compose_says(compose: Document) -> None:
    assert errors(compose) == []


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("services.api.depend_on", {}),
        ("services.api.depends_on.migrate.condition", "service_completed"),
        ("services.worker.init", []),
    ],
)
def test_the_schema_finds_mistakes(compose: Document, place: str, value: object) -> None:
    assert errors(changed(compose, place, value))


@pytest.mark.parametrize("name", sorted(read()["services"].keys() - {"postgres"}))
def test_nothing_runs_before_the_tables_are_there(name: str, compose: Document) -> None:
    services = compose["services"]
    needed = dict(waited_for(name, services))
    assert not any("profiles" in services[other] for other in needed)  # `up` would not start it
    assert needed["postgres"] == "service_healthy"
    if name != "migrate":
        assert needed["migrate"] == "service_completed_successfully"


def test_what_ends_by_itself_is_not_started_again(compose: Document) -> None:
    services = compose["services"]
    lasting = {name for name, each in services.items() if "restart" in each}
    assert lasting == {"postgres", "api", "worker"}
    ending = [
        other
        for name in services
        for other, how in services[name].get("depends_on", {}).items()
        if how["condition"] == "service_completed_successfully"
    ]
    assert lasting.isdisjoint(ending)


def test_what_listens_nowhere_is_not_asked_how_it_is(compose: Document) -> None:
    """A check in the image would ask every container, at one port, and call the others sick."""
    words = [line.partition(" ")[0] for line in (ROOT / "Dockerfile").read_text().splitlines()]
    assert "HEALTHCHECK" not in words
    asked = {name for name, each in compose["services"].items() if "healthcheck" in each}
    assert asked == {"api", "postgres"}
    (port,) = re.findall(r"http://127\.0\.0\.1:(\d+)/", str(compose["services"]["api"]))
    published = [each.rpartition(":")[2] for each in compose["services"]["api"]["ports"]]
    assert published == [port]


@pytest.mark.parametrize("name", ["migrate", "api", "worker", "tune"])
def test_the_command_of_a_service_is_one_that_we_have(name: str, compose: Document) -> None:
    assert not_taken(compose["services"][name]["command"]) == []


@pytest.mark.slow
@pytest.mark.parametrize("empty_database_url", ["postgresql"], indirect=True)
def test_a_plain_up_ends_with_a_server_that_is_ready_and_lets_nobody_in(
    compose: Document, empty_database_url: str, tmp_path: Path
) -> None:
    desk = ServiceDesk(
        tmp_path, empty_database_url, {"ROCKTUNE_DB": empty_database_url}, launch=forked
    )
    services = started_by_up(compose)
    lasting = [name for name, each in services.items() if "restart" in each]
    for _ in range(2):  # `up` again runs again what has ended
        for name, each in services.items():
            if name not in lasting:
                words, log = [str(ROCKTUNE), *each["command"]], tmp_path / name
                assert forked(words, desk.variables(), tmp_path, log).wait(60) == 0, (
                    log.read_text()
                )
    with desk.running(*services["api"]["command"], "--port=0") as api:
        url = api.address().replace("0.0.0.0", "127.0.0.1")
        assert status_of(f"{url}/readyz") == 200
        assert status_of(f"{url}/v1/jobs") == 401
    with desk.running(*services["worker"]["command"]) as worker:
        worker.await_said("worker is ready")
