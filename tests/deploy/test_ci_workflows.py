"""The workflows of ``deploy/ci``: against the platforms' published schemas, and what they run."""

import importlib.resources
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from tests.support.cluster.command_lines import DEPLOY, changed, not_taken, schema_errors

Document = dict[Any, Any]
SCHEMAS = importlib.resources.files("check_jsonschema") / "builtin_schemas/vendor"
KINDS = {"github": "github-workflows.json", "gitlab": "gitlab-ci.json"}
INSTALLED = "/opt/rocktune/.venv/bin/rocktune "


def read(kind: str) -> Document:
    found: Document = yaml.safe_load((DEPLOY / "ci" / f"{kind}.yml").read_text())
    if True in found:  # YAML 1.1 reads `on` as a truth value; the platform does not
        found["on"] = found.pop(True)
    return found


def errors(kind: str, document: Document) -> list[str]:
    schema = json.loads((SCHEMAS / KINDS[kind]).read_text())
    return schema_errors(schema, document)


def script(kind: str, document: Document) -> list[str]:
    if kind == "gitlab":
        return document["rocktune"]["script"]
    return [step["run"] for step in document["jobs"]["check"]["steps"] if "run" in step]


@pytest.mark.parametrize("kind", KINDS)
def test_a_workflow_is_what_its_platform_publishes(kind: str) -> None:
    assert errors(kind, read(kind)) == []


@pytest.mark.parametrize(
    ("kind", "place", "value"),
    [
        ("github", "jobs.check.steps.0.use", "actions/checkout@v4"),
        ("github", "jobs.check.runs-on", None),
        ("gitlab", "rocktune.artifacts.when", "ever"),
        ("gitlab", "rocktune.script", {"run": "rocktune"}),
    ],
)
def test_the_schemas_find_mistakes(kind: str, place: str, value: object) -> None:
    assert errors(kind, changed(read(kind), place, value))


@pytest.mark.parametrize("kind", KINDS)
def test_a_workflow_runs_a_command_that_we_have(kind: str) -> None:
    (command,) = (line for line in script(kind, read(kind)) if line.startswith(INSTALLED))
    words = command.removeprefix(INSTALLED).split()
    assert not_taken(words) == []
    assert words[:2] == ["check", "nightly.toml"]
    # What later steps take is what it writes.
    for option in ("--db", "--junit", "--markdown"):
        written = words[words.index(option) + 1]
        rest = (DEPLOY / "ci" / f"{kind}.yml").read_text().split(INSTALLED)[1]
        assert len(re.findall(re.escape(written), rest)) > 1, written


@pytest.mark.parametrize("kind", KINDS)
def test_a_database_is_cached_with_its_log(kind: str, tmp_path: Path) -> None:
    """A check that was killed leaves its newest nights in the write-ahead log alone."""
    document = read(kind)
    if kind == "gitlab":
        cached = [document["rocktune"]["cache"]["paths"]]
    else:
        steps = document["jobs"]["check"]["steps"]
        cached = [s["with"]["path"].split() for s in steps if "/cache/" in s.get("uses", "")]
        assert len(cached) == 2
    (command,) = (line for line in script(kind, document) if line.startswith(INSTALLED))
    words = command.split()
    engine = make_engine(tmp_path / words[words.index("--db") + 1])
    upgrade_tables(engine)
    with engine.connect():  # as long as one is open, so is the log
        there = {each.name for each in tmp_path.iterdir() if not each.name.endswith("-shm")}
        assert len(there) == 2
        for patterns in cached:
            assert there <= {f.name for each in patterns for f in tmp_path.glob(each)}
    engine.dispose()


@pytest.mark.parametrize("kind", KINDS)
def test_the_nights_are_kept_after_a_regression_too(kind: str) -> None:
    document = read(kind)
    if kind == "gitlab":
        assert document["rocktune"]["cache"]["when"] == "always"
        assert document["rocktune"]["artifacts"]["when"] == "always"
        return
    steps = document["jobs"]["check"]["steps"]
    (restored,) = (s for s in steps if s.get("uses", "").startswith("actions/cache/restore@"))
    (saved,) = (s for s in steps if s.get("uses", "").startswith("actions/cache/save@"))
    assert "always()" in saved["if"]
    assert restored["with"]["key"] == saved["with"]["key"]
    assert saved["with"]["key"].startswith(restored["with"]["restore-keys"])
    # A key is written once: without the run in it, no night after the first would be kept.
    assert "github.run_id" in saved["with"]["key"]
