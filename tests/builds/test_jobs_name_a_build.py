import json
from pathlib import Path

import pytest

from cli.main import main
from jobs.execution.assembly import assemble
from jobs.specification.named_files import specify
from jobs.specification.specification import specification_from_document
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from tests.support.sampler.second_builds import with_default

COMMAND = 'name = "mine"\n[command]\nargv = ["true"]\ntimeout_seconds = 9\n'


def test_a_job_that_names_no_build_is_the_job_that_it_always_was():
    plain = specify()
    assert (plain.db_bench, plain.host_kind) == (None, None)
    assert specify(db_bench="default").digest() == plain.digest()
    before = plain.document()
    del before["db_bench"], before["host_kind"]  # as an earlier version stored it
    again = specification_from_document(json.loads(json.dumps(before)))
    assert again == plain
    assert again.digest() == plain.digest()


@pytest.mark.parametrize("change", [{"db_bench": "9.7"}, {"host_kind": "nvme"}])
def test_a_build_or_a_kind_makes_another_job(change: dict[str, str]):
    job = specify(**change)  # type: ignore[arg-type]
    assert job.digest() != specify().digest()
    stored = json.loads(json.dumps(job.document()))
    assert specification_from_document(stored) == job


def test_a_path_leads_to_the_same_program_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert specify(db_bench="./db_bench").db_bench == str(tmp_path / "db_bench")


@pytest.mark.parametrize(
    ("field", "text"),
    [("db_bench", "a b"), ("db_bench", ""), ("host_kind", "a/b"), ("host_kind", "")],
)
def test_what_can_be_no_name_is_refused(field: str, text: str):
    with pytest.raises(InputError) as refused:
        specify(**{field: text})  # type: ignore[arg-type]
    assert refused.value.field == field


def test_a_build_means_nothing_to_a_benchmark_of_ones_own(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text(COMMAND)
    with pytest.raises(InputError, match="db_bench: this workload does not run db_bench"):
        specify(workload=str(path), db_bench="9.7")


@pytest.mark.db_bench
def test_the_named_build_measures(settings: Settings, tmp_path: Path):
    other = with_default(tmp_path, "other", "num_levels", "5")
    here = settings.model_copy(update={"builds": f"five={other}"})
    for given in ("five", str(other)):
        assembly = assemble(specify(db_bench=given), here)
        assert assembly.installed is not None
        assert assembly.installed.program == other
        assert assembly.problem.space.context["num_levels"] == 5
    plain = assemble(specify(), here)
    assert plain.problem.space.context["num_levels"] == 7


@pytest.mark.parametrize("command", ["tune", "bench"])
def test_an_unknown_build_is_one_clear_line(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("ROCKTUNE_BUILDS", "9.7=/nowhere/db_bench")
    assert main([command, "--db-bench", "10.2"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("rocktune: --db-bench: there is no build '10.2'")
    assert "default, 9.7" in line


def test_submit_sends_the_build_and_the_kind(monkeypatch: pytest.MonkeyPatch):
    sent: list[dict[str, object]] = []

    def keep(_remote: object, body: dict[str, object]) -> None:
        sent.append(body)
        raise InputError("stop", "here")

    monkeypatch.setattr("cli.stored.jobs.submitted", keep)
    asked = ["submit", "--db-bench", "9.7", "--host-kind", "nvme", "--url", "http://localhost:1"]
    assert main(asked) == 2
    assert (sent[0]["db_bench"], sent[0]["host_kind"]) == ("9.7", "nvme")
