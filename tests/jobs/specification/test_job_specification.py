import json
from pathlib import Path

import pytest

from jobs.specification.named_files import specify
from jobs.specification.specification import DEFAULT_TRIALS, specification_from_document
from optimizer.trials.problem import SearchSettings
from sampler.common.errors import InputError
from tests.support.jobs.instant import write_space, write_workload


def test_defaults():
    specification = specify()
    assert specification.trials == DEFAULT_TRIALS == 96
    assert specification.minutes is None
    assert specification.workload["name"] == "load-quick"
    assert specification.space["name"] == "default"
    assert specification.shipped_space
    assert specification.objective["name"] == "paper"
    assert (specification.strategy, specification.seed) == ("guided", 1)


def test_minutes_stand_instead_of_trials():
    specification = specify(minutes=5)
    assert (specification.trials, specification.minutes) == (None, 5)


def test_survives_storage(tmp_path: Path):
    options = tmp_path / "OPTIONS"
    options.write_text('[DBOptions]\n[CFOptions "default"]\n  write_buffer_size=1048576\n')
    specification = specify(
        workload=str(write_workload(tmp_path)), space=str(write_space(tmp_path)),
        baseline=str(options), memory=2**28, scale=32, seed=9, trials=50, strategy="genetic",
        top=7, stop_early=True,
    )  # fmt: skip
    stored = json.loads(json.dumps(specification.document()))
    again = specification_from_document(stored)
    assert again == specification
    assert again.digest() == specification.digest()
    assert again.baseline_options == options.read_text()


@pytest.mark.parametrize(
    "change",
    [
        {"workload": "load"},
        {"space": "paper"},
        {"objective": "waf"},
        {"strategy": "random"},
        {"baseline": "db_bench"},
        {"trials": 97},
        {"minutes": 3.0},
        {"memory": 2**28},
        {"scale": 32},
        {"seed": 2},
        {"samples": 6},
        {"detect": "5%"},
        {"detect": "waf=5%"},
    ],
)
def test_its_digest_tells_jobs_apart(change: dict[str, object]):
    assert specify().digest() == specify().digest()
    assert specify(**change).digest() != specify().digest()  # type: ignore[arg-type]


def test_its_digest_goes_by_content_not_by_name(tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = write_space(tmp_path / "a"), write_space(tmp_path / "b")
    workload = str(write_workload(tmp_path))

    def digest(space: Path) -> str:
        return specify(workload=workload, space=str(space)).digest()

    assert digest(first) == digest(second)
    second.write_text(second.read_text().replace("1000000", "1000001"))
    assert digest(first) != digest(second)


def test_a_document_of_another_version_is_refused():
    document = specify().document()
    with pytest.raises(InputError, match=r"job: was written by another version"):
        specification_from_document(document | {"colour": "red"})
    with pytest.raises(InputError, match=r"job: was written by another version"):
        specification_from_document({"workload": document["workload"]})


class TestTheProgramOfAWorkload:
    def write(self, folder: Path, program: str) -> Path:
        path = folder / "own.toml"
        path.write_text(f'name = "own"\n[command]\nargv = ["{program}", "-x"]\n')
        return path

    def argv(self, workload: Path) -> list[str]:
        return list(specify(workload=str(workload)).workload["command"]["argv"])

    def test_is_found_beside_the_file(self, tmp_path: Path):
        (tmp_path / "bench.sh").touch()
        found = self.argv(self.write(tmp_path, "./bench.sh"))
        assert found == [str(tmp_path / "bench.sh"), "-x"]

    def test_is_found_from_where_the_user_stands(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        here = tmp_path / "here"
        here.mkdir()
        (here / "bench.sh").touch()
        (tmp_path / "bench.sh").touch()
        monkeypatch.chdir(here)
        found = self.argv(self.write(tmp_path, "./bench.sh"))
        assert found == [str(here / "bench.sh"), "-x"]

    def test_on_the_path_stays_as_it_is(self, tmp_path: Path):
        assert self.argv(self.write(tmp_path, "sh")) == ["sh", "-x"]


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"trials": 11}, "trials"),
        ({"trials": 12, "minutes": 1}, "minutes"),
        ({"minutes": 0}, "minutes"),
        ({"minutes": float("nan")}, "minutes"),
        ({"minutes": float("inf")}, "minutes"),
        ({"scale": 0}, "scale"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**31}, "seed"),
        ({"strategy": "luck"}, "strategy"),
        ({"workload": "nothing"}, "workload"),
        ({"space": "nothing"}, "space"),
        ({"objective": "nothing"}, "objective"),
        ({"baseline": "nothing"}, "baseline_options"),
        ({"cutoff": 0.5}, "cutoff"),
        ({"samples": 60, "trials": 90}, "samples"),
        ({"strategy": "lhs", "samples": 3}, "samples"),
        ({"strategy": "nsga2", "generations": 3}, "generations"),
        ({"generations": 3}, "generations"),
        ({"top": 3}, "top"),
        ({"strategy": "random", "over": ["block_size"]}, "over"),
        ({"strategy": "sobol", "stop_early": True}, "stop_early"),
    ],
)
def test_what_is_wrong_is_named(asked: dict[str, object], field: str):
    with pytest.raises(InputError) as caught:
        specify(**asked)  # type: ignore[arg-type]
    assert caught.value.field == field
    assert caught.value.problem


def test_an_options_file_that_is_none(tmp_path: Path):
    options = tmp_path / "OPTIONS"
    options.write_text("hello\n")
    with pytest.raises(InputError, match=f"baseline_options {options}: line 1 is not key=value"):
        specify(baseline=str(options))
    options.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="baseline_options"):
        specify(baseline=str(options))


def test_what_is_left_at_its_default_does_not_part_a_job_from_an_older_one():
    today = specify(samples=3)
    older = today.model_copy(update={"search": SearchSettings(samples=3)})
    assert older.digest() == today.digest() != specify().digest()
    assert SearchSettings.model_validate({"over": ["b", "a", "b"]}).over == ("b", "a")
