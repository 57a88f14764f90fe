"""`--start-from`: names and OPTIONS files, and where each strategy begins by itself."""

from pathlib import Path

import pytest

from jobs.specification.named_files import inlined, specify
from jobs.specification.resolved_job import resolve
from jobs.specification.specification import specification_from_document
from jobs.specification.start_from import require_starts
from sampler.common.errors import InputError
from sampler.machine.machine import cpu_threads
from sampler.space.starting_points import handful
from sampler.workload.workload_file import load_workload

OPTIONS = """\
[DBOptions]
  max_background_jobs=4
[CFOptions "default"]
  compression=kZSTD
  write_buffer_size=32M
"""


def begins(**more: object) -> list[str]:
    return [start.name for start in resolve(specify(**more), None).problem.starts]


def test_every_search_begins_at_the_usual_points_unless_told_otherwise() -> None:
    usual = handful(load_workload("load-quick"))
    assert begins(strategy="guided") == [name for name in usual if name != "library"]
    assert begins(strategy="guided", baseline="db_bench")[0] == "library"
    for strategy in ("genetic", "random", "lhs", "sobol", "nsga2", "greedy"):
        assert begins(strategy=strategy) == begins(strategy="guided")


def test_a_job_about_space_begins_with_little_space() -> None:
    for more in ({"objective": "sa"}, {"limits": ["sa <= 0.9 baseline"]}):
        assert begins(**more)[0] == "space-leveled"


def test_the_cores_are_those_of_where_the_job_was_made() -> None:
    made = specify(strategy="guided")
    assert made.cores == cpu_threads()
    there = made.model_copy(update={"cores": 12})
    problem = resolve(there, None).problem
    configuration = problem.configuration(problem.starts[0].point)
    assert configuration["max_background_jobs"] == 12
    assert there.digest() == made.digest()


def test_a_job_of_an_earlier_version_begins_where_it_began() -> None:
    earlier = specify(strategy="guided").document()
    del earlier["cores"]
    starts = resolve(specification_from_document(earlier), None).problem.starts
    assert [start.name for start in starts] == ["benchmark.sh", "basic-tuning", "universal-style"]


def test_none_is_none_and_what_is_named_is_taken_by_any_strategy() -> None:
    assert begins(strategy="guided", start_from=["none"]) == []
    asked = ["level-style", "benchmark.sh"]
    assert begins(strategy="genetic", start_from=asked) == ["level-style", "benchmark.sh"]


def test_a_file_is_read_when_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.ini"
    path.write_text(OPTIONS)
    specification = specify(start_from=[str(path)])
    path.unlink()
    (start,) = (problem := resolve(specification, None).problem).starts
    found = problem.configuration(start.point)
    assert start.name == "mine.ini"
    assert (found["compression_type"], found["max_background_jobs"]) == ("zstd", 4)
    assert found["write_buffer_size"] == 32 * 2**20
    assert inlined({"start_from": ["benchmark.sh"]})["start_from"] == ["benchmark.sh"]
    assert inlined({"start_from": []})["start_from"] is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([{"name": "fastest"}], "'fastest' is not one of library, writing-leveled"),
        ([{"name": "none"}, {"name": "library"}], "give either none or"),
        ([{"name": "library"}] * 21, "21 are too many"),
        ([{"name": "a", "options": "rubbish"}], "is not key=value"),
    ],
)
def test_what_is_no_starting_point_is_refused(given: list[dict[str, str]], said: str) -> None:
    with pytest.raises(InputError, match=said) as refused:
        require_starts(given)
    assert refused.value.field == "start_from"
