"""Calls an interface in every way that its description allows, and in those that it does not."""

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import schemathesis
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import from_schema
from schemathesis.engine.events import EngineFinished, FatalError, NonFatalError, ScenarioFinished
from schemathesis.schemas import BaseSchema

CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
PHASES = ("examples", "coverage", "fuzzing", "stateful")


@dataclass
class Findings:
    """What came of it.

    Attributes:
        operations: Those that the description has.
        cases: How many requests were made of each operation.
        statuses: How often each status came.
        failures: What failed, once for each operation and kind, and what went wrong in trying.
    """

    operations: set[str]
    cases: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    failures: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


def from_app(app: object) -> BaseSchema:
    """The interface of an application in this process."""
    config = SchemathesisConfig.from_path(CONFIGURATION)
    return schemathesis.openapi.from_asgi("/openapi.json", app, config=config)


def from_server(url: str) -> BaseSchema:
    """The interface of a server."""
    config = SchemathesisConfig.from_path(CONFIGURATION)
    return schemathesis.openapi.from_url(f"{url}/openapi.json", config=config)


def call_everything(
    schema: BaseSchema,
    *,
    examples: int,
    headers: dict[str, str] | None = None,
    phases: Collection[str] = PHASES,
) -> Findings:
    """Calls it, as ``schemathesis.toml`` says.

    Args:
        schema: The interface.
        examples: Of each operation, at most, where cases are drawn and not enumerated.
        headers: Sent with every request.
        phases: Only these.
    """
    config = schema.config  # what was set before the schema was read may be another's by now
    config.generation.update(max_examples=examples)
    config.headers = headers
    for phase in PHASES:
        config.phases.get_by_name(name=phase).enabled = phase in phases
    drawn = config.generation_for(phase="fuzzing")
    assert (drawn.max_examples, drawn.deterministic) == (examples, True)
    load_all_checks()
    names = CHECKS.get_all_names()
    assert names and all(
        config.checks_config_for(phase=phase).get_by_name(name=name).enabled
        for phase in PHASES
        for name in names
    )
    assert "422" in config.checks.positive_data_acceptance.expected_statuses
    labels = {each.ok().label for each in schema.get_all_operations()}
    findings = Findings(labels)
    for event in from_schema(schema).execute():
        if isinstance(event, ScenarioFinished):
            _take_down(event, findings)
        elif isinstance(event, NonFatalError):
            findings.failures[event.label].add(f"{type(event.value).__name__}: {event.value}")
        elif isinstance(event, FatalError):
            raise event.exception
        elif isinstance(event, EngineFinished):
            assert event.stop_reason == "completed", event.stop_reason
    return findings


def _take_down(event: ScenarioFinished, findings: Findings) -> None:
    recorder = event.recorder
    for case_id, node in recorder.cases.items():
        interaction = recorder.interactions.get(case_id)
        if interaction is None:
            continue
        findings.cases[node.value.operation.label] += 1
        if interaction.response is not None:
            findings.statuses[interaction.response.status_code] += 1
        for check in recorder.checks.get(case_id, ()):
            if check.failure_info is not None:
                failure = check.failure_info.failure
                said = f"{check.name}: {failure.title}: {failure.message}"
                sent = check.failure_info.code_sample
                findings.failures[node.value.operation.label].add(f"{said}\n    {sent}"[:2000])
