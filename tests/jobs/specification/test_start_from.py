"""`--start-from`: names and OPTIONS files, and where each strategy begins by itself."""

from pathlib import Path

import pytest

from jobs.specification.named_files import inlined, specify
from jobs.specification.resolved_job import resolve
from jobs.specification.specification import specification_from_document
from jobs.specification.start_from import require_starts
from optimizer.trials.problem import Problem
from sampler.common.errors import InputError
from sampler.machine.machine import cpu_threads
from sampler.rocksdb.parameters import Value
from sampler.space.space import memory_bytes
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


MIB = 2**20


def by_the_guide(given: str = "guide:48", **more: object) -> tuple[Problem, dict[str, Value]]:
    specification = specify(strategy="random", start_from=[given], **more)
    problem = resolve(specification, None).problem
    (start,) = problem.starts
    return problem, problem.configuration(start.point)


def test_in_the_space_of_blob_files_it_keeps_keys_and_values_apart():
    problem, found = by_the_guide(workload="kioxia-t2", space="blob", memory=900 * MIB)
    assert found["enable_blob_files"] is True and found["enable_blob_garbage_collection"] is True
    assert found["blob_file_size"] == pytest.approx(160e6, rel=0.02)
    assert found["write_buffer_size"] == pytest.approx(168e6, rel=0.02)
    assert found["level0_slowdown_writes_trigger"] == 36
    assert found["max_write_buffer_number"] == 5
    assert "max_write_buffer_number 5 instead of 13" in problem.starts[0].changed


def test_in_a_space_without_them_files_and_codec_stay_at_the_baseline():
    problem, found = by_the_guide()
    base = problem.space.context
    for name in ("target_file_size_base", "max_bytes_for_level_base", "compression_type"):
        assert found[name] == base[name], name
    assert found["level0_stop_writes_trigger"] == 48


def test_it_keeps_the_memory_of_the_job():
    for memory in (64, 136, 384):
        problem, found = by_the_guide(space="blob", memory=memory * MIB)
        assert problem.affords(found)
        assert memory_bytes(problem.space.complete(found)) > 0.8 * memory * MIB
        # A write buffer holds a file of values, so that a flush writes one.
        assert found["blob_file_size"] <= found["write_buffer_size"]


def test_a_host_of_this_machine_s_threads_is_meant_unless_it_says_of_how_many():
    kept = specify(start_from=["guide", "guide:48"]).start_from
    assert kept == [{"name": f"guide:{cpu_threads()}"}, {"name": "guide:48"}]
    assert inlined({"start_from": ["guide:48", "benchmark.sh"]})["start_from"] == [
        "guide:48",
        "benchmark.sh",
    ]


def test_an_options_file_of_that_name_is_a_file(tmp_path: Path):
    file = tmp_path / "guide"
    file.write_text('[DBOptions]\n  max_background_jobs=7\n[CFOptions "default"]\n')
    specification = specify(start_from=[str(file)])
    (start,) = (problem := resolve(specification, None).problem).starts
    assert problem.configuration(start.point)["max_background_jobs"] == 7


@pytest.mark.parametrize(
    ("given", "workload", "said"),
    [
        ("guide:0", "load-quick", "has no number of threads; write it like guide:48"),
        ("guide:many", "load-quick", "has no number of threads"),
        ("guide:5000", "load-quick", "has no number of threads"),
        ("guide", "external", "which the workload external lacks"),
        ("guides", "load-quick", "none or a readable OPTIONS file"),
    ],
)
def test_what_cannot_be_worked_out_is_refused(given: str, workload: str, said: str):
    with pytest.raises(InputError, match=said) as refused:
        specify(start_from=[given], workload=workload)
    assert refused.value.field == "start_from"
