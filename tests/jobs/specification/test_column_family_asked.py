"""Which column family of an OPTIONS file a job is for."""

import json
from pathlib import Path

import pytest

from jobs.specification.named_files import specify
from jobs.specification.request import read_request
from jobs.specification.resolved_job import resolve
from jobs.specification.specification import Specification, asked_for, specification_from_document
from sampler.common.errors import InputError

TWO = (
    '[DBOptions]\n[CFOptions "default"]\n  write_buffer_size=33554432\n'
    '[CFOptions "blocks"]\n  write_buffer_size=16777216\n  num_levels=4\n'
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "OPTIONS"
    path.write_bytes(TWO.encode())
    return path


def asked(file: Path, family: str | None = None) -> Specification:
    return specify(workload="load", baseline=str(file), column_family=family)


def test_the_named_family_is_the_baseline_and_it_is_said_which_others_there_are(file: Path):
    found = resolve(asked(file, "blocks"), None)
    assert found.problem.space.context["num_levels"] == 4
    assert found.problem.space.context["write_buffer_size"] == 16 * 2**20
    assert (
        "column families default: not measured; only blocks is. `column_family` selects another"
    ) in found.warnings


def test_left_out_it_is_the_default_one_and_that_is_said(file: Path):
    found = resolve(asked(file), None)
    assert found.problem.space.context["write_buffer_size"] == 32 * 2**20
    assert (
        "column families blocks: not measured; only default is. `column_family` selects another"
    ) in found.warnings


def test_another_family_is_another_job(file: Path):
    digests = {asked(file, family).digest() for family in (None, "default", "blocks")}
    assert len(digests) == 3


def test_a_job_of_a_version_that_knew_no_families_is_still_the_same(file: Path):
    now = asked(file)
    stored = json.loads(json.dumps(now.document()))
    del stored["column_family"]
    again = specification_from_document(stored)
    assert again.digest() == now.digest()
    assert resolve(again, None).plan.baseline_file.family == "default"


def test_the_ends_of_lines_are_kept_and_part_no_job_from_those_who_come_back_to_it(file: Path):
    before = asked(file)
    file.write_bytes(TWO.replace("\n", "\r\n").encode())
    after = asked(file)
    assert after.baseline_options == TWO.replace("\n", "\r\n")
    assert after.digest() == before.digest()


def test_a_family_that_is_not_there_is_refused(file: Path):
    with pytest.raises(InputError) as refused:
        asked(file, "block")
    assert str(refused.value) == (
        "column_family: the OPTIONS file has no column family 'block'; it has default, blocks"
    )


@pytest.mark.parametrize("baseline", [None, "library", "db_bench"])
def test_a_family_without_a_file_is_refused(baseline: str | None):
    with pytest.raises(InputError, match="needs an OPTIONS file for 'blocks'; give one"):
        specify(baseline=baseline, column_family="blocks")


def test_another_baseline_takes_the_family_back_and_another_file_keeps_it():
    before = Specification.model_construct(baseline_options=TWO, column_family="blocks")

    def after(**asked: object) -> Specification:
        return asked_for(read_request(asked), before, [])[0]

    named = after(baseline="library")
    assert named.column_family is named.baseline_options is None
    assert after(baseline_options=TWO).column_family == "blocks"
    assert after(column_family=None).column_family is None


@pytest.mark.parametrize("given", ["", 3, ["blocks"]])
def test_a_family_is_a_text(given: object):
    with pytest.raises(InputError, match=r"^column_family: "):
        read_request({"column_family": given})
