"""Commands, files and requests that README, docs/ and pages show are ones that Rocktune takes."""

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from typer.main import get_command

from api.schemas.catalogue_schemas import WorkloadCreate
from api.schemas.job_schemas import JobAsked
from api.schemas.schedule_schemas import ScheduleCreate, WebhookCreate
from cli.main import app
from jobs.batch.batch_plan import read_batch
from optimizer.objective.objective_file import load_objective
from sampler.space.space_file import load_space
from sampler.workload.workload_file import load_workload
from tests.support.documented import COMMANDS, IN_TEMPLATES, PAGES, blocks

BODIES = {
    "/v1/jobs": JobAsked, "/v1/schedules": ScheduleCreate, "/v1/workloads": WorkloadCreate,
    "/v1/webhooks": WebhookCreate,
}  # fmt: skip
BLOCKS = [block for page in PAGES for block in blocks(page)]
DOCUMENTS = [block for block in BLOCKS if re.match(r"name = |\[\[parameter", block)]
_SENT = re.compile(r"(/v1/[a-z0-9/]+)\S*[^'\n]*(?:'[^'\n]*')?\s+-d\s+'(.*?)'", re.DOTALL)
REQUESTS = [sent for block in BLOCKS for sent in _SENT.findall(block)]


def test_commands_are_there_with_their_options():
    of_all = get_command(app)
    for command in COMMANDS:
        known = of_all
        # A sentence may leave out what follows, or say `A` for anything.
        words = re.split(r"\s{3,}| [|&>]", command)[0].replace("'", "").replace('"', "").split()
        for word in words[1:]:
            if word.startswith("-"):
                options = {each for p in known.params for each in (*p.opts, *p.secondary_opts)}
                assert word.partition("=")[0].rstrip(".,") in {*options, "-h", "--help"}, command
            elif inner := getattr(known, "commands", None):
                assert word in inner, command
                known = inner[word]


def test_commands_of_a_page_have_no_argument_too_many():
    of_all: Any = get_command(app)
    for command in IN_TEMPLATES:
        known, words = of_all, shlex.split(command.split(" > ")[0])[1:]
        while inner := getattr(known, "commands", None):
            known = inner[words.pop(0)]
        parser = known.make_parser(known.make_context("", [], resilient_parsing=True))
        assert parser.parse_args(words)[1] == [], command


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_file_is_read(document: str, tmp_path: Path):
    keys = tomllib.loads(document).keys()
    path = tmp_path / "mine.toml"
    path.write_text(document)
    if "workloads" in keys or "job" in keys:
        (tmp_path / "nightly.toml").write_text(document)
        path.write_text('name = "mine"\nbenchmarks = ["fillrandom"]\nnum = 100000\n')
        assert read_batch(tmp_path / "nightly.toml").items
    elif "parameter" in keys:
        assert load_space(str(path)).names
    elif "metric" in keys:
        assert load_objective(str(path)).terms
    else:
        (tmp_path / "bench.sh").write_text("#!/bin/sh\n")
        (tmp_path / "monday.trace").write_bytes(b"")
        assert load_workload(str(path)).name


@pytest.mark.parametrize(("path", "body"), REQUESTS)
def test_a_request_is_one(path: str, body: str):
    document = json.loads(body)
    if path in BODIES:
        assert TypeAdapter(BODIES[path]).validate_python(document)


def test_there_are_some():
    assert (len(COMMANDS) > 60, len(DOCUMENTS) > 3, len(REQUESTS) > 2) == (True, True, True)
