"""Whatever is wrong with a job is told at once, not one thing after the other."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs.specification.named_files import specify
from jobs.specification.resolved_job import resolve
from jobs.specification.specification import Specification, checked
from sampler.common.errors import InputError, InputErrors

GOOD: dict[str, Any] = {
    "workload": {"name": "mine"},
    "space": {"name": "two", "parameter": [{"name": "num_levels"}, {"name": "block_size"}]},
    "objective": {"name": "waf", "metric": [{"name": "waf", "direction": "min"}]},
    "shipped_space": False,
}


def fields(wrong: Callable[[], object]) -> list[str]:
    with pytest.raises(InputError) as caught:
        wrong()
    error = caught.value
    return [e.field for e in error.errors] if isinstance(error, InputErrors) else [error.field]


def refused(**change: Any) -> list[str]:
    return fields(lambda: checked(Specification.model_construct(**{**GOOD, **change})))


def test_the_parts_are_good():
    specification = checked(Specification.model_construct(**GOOD))
    assert specification.trials == 96
    assert resolve(specification, None).problem.space.names == ("num_levels", "block_size")


def test_one_thing_is_told_as_one():
    with pytest.raises(InputError) as caught:
        checked(Specification.model_construct(**GOOD, trials=3))
    assert not isinstance(caught.value, InputErrors)
    assert caught.value.field == "trials"


def test_every_field_of_a_specification_at_once():
    assert refused(
        workload={"name": "mine", "num": 0},
        space={"name": "none"},
        objective={"name": ""},
        strategy="guess",
        baseline_options="hello\n",
        trials=3,
        minutes=-1.0,
        scale=0,
        seed=-1,
    ) == [
        "minutes", "trials", "minutes", "scale", "seed", "strategy", "workload.num",
        "space.parameter", "objective.name", "objective.metric", "baseline_options",
    ]  # fmt: skip


def test_settings_beside_a_file_that_cannot_be_read():
    wrong = fields(lambda: specify(workload="no1", limits=["fast"], trials=3, seed=-1))
    assert wrong == ["workload", "limits", "trials", "seed"]


def test_every_name_at_once():
    with pytest.raises(InputErrors) as caught:
        specify(workload="no1", space="no2", objective="no3", baseline="no4")
    assert [error.field for error in caught.value.errors] == [
        "workload", "space", "objective", "baseline_options"]  # fmt: skip
    assert all(f"no{i}" in str(caught.value) for i in (1, 2, 3, 4))
    assert "\n" not in str(caught.value)


def framed(**change: Any) -> list[str]:
    specification = specify(**change)
    return fields(lambda: resolve(specification, None))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(
        'name = "own"\n[[parameter]]\nname = "batch"\ntype = "int"\nlow = 1\nhigh = 9\n'
    )
    return path


def test_what_does_not_fit_together_at_once(own: Path):
    assert framed(space=str(own)) == ["space.parameter (batch)"]
    assert framed(memory=2**20) == ["memory"]
    assert framed(scale=10**6) == ["workload (load-quick)"]
    assert framed(memory=2**40) == ["workload (load-quick)"]
    assert framed(space=str(own), scale=10**6, memory=2**20) == [
        "space.parameter (batch)", "workload (load-quick)", "memory"]  # fmt: skip


def test_a_runner_of_the_users_own_may_have_parameters_of_its_own(own: Path):
    found = resolve(specify(workload="external", space=str(own)), None)
    assert found.problem.space.names == ("batch",)
