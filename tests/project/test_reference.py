"""The pages of docs/reference name every command, option, request, field and setting there is."""

import re

import pytest
from sqlalchemy import create_engine

from api.app import make_app
from jobs.queue.service_settings import ServiceSettings
from sampler.bench.settings import Settings
from studies.reference.commands import PARTS, commands, written
from tests.support import ROOT

REFERENCE = ROOT / "docs/reference"
ROOMS = ("sampler", "models", "optimizer", "db", "jobs", "api", "cli")


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part[1])
def test_what_is_made_from_the_code_is_as_the_code_is(part: tuple) -> None:
    page, name, make = part
    text = (ROOT / page).read_text()
    mend = "run .venv/bin/python -m studies.reference"
    assert text == written(text, name, make()), mend


def test_every_option_of_every_command_is_there() -> None:
    page = (REFERENCE / "commands.md").read_text()
    for name, command in commands():
        section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
        options = [each for each in command.params if each.param_type_name == "option"]
        for option in options:
            assert all(f"`{each}`" in section for each in option.opts), (name, option.opts)


def test_every_request_has_a_row_and_every_row_a_request() -> None:
    app = make_app(create_engine("sqlite://"))
    described = app.openapi()["paths"].items()
    served = {(method.upper(), path) for path, methods in described for method in methods}
    page = (REFERENCE / "http.md").read_text()
    listed = re.findall(r"^\| `(GET|POST|DELETE|PUT|PATCH) (/\S*?)`", page, re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert set(listed) == served


def test_every_setting_has_a_row_and_every_row_a_setting() -> None:
    fields = [*Settings.model_fields, *ServiceSettings.model_fields]
    known = {f"ROCKTUNE_{name}".upper() for name in fields}
    code = "".join(path.read_text() for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    # Beside settings, variables that are read by themselves; a trial's mark is set and not read.
    known |= set(re.findall(r"\bROCKTUNE_[A-Z_]*[A-Z]\b", code)) - {"ROCKTUNE_TRIAL"}
    page = (REFERENCE / "settings.md").read_text()
    assert set(re.findall(r"^\| `(ROCKTUNE_\w+)`", page, re.MULTILINE)) == known
