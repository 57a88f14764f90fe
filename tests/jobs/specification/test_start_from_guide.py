"""`--start-from guide`: computed from the workload, the memory and the host's CPU threads."""

from pathlib import Path

import pytest

from jobs.specification.named_files import inlined, specify
from jobs.specification.resolved_job import resolve
from optimizer.trials.problem import Problem
from sampler.common.errors import InputError
from sampler.machine.machine import cpu_threads
from sampler.rocksdb.parameters import Value
from sampler.space.space import memory_bytes

MIB = 2**20


def begins(given: str = "guide:48", **more: object) -> tuple[Problem, dict[str, Value]]:
    specification = specify(strategy="random", start_from=[given], **more)
    problem = resolve(specification, None).problem
    (start,) = problem.starts
    return problem, problem.configuration(start.point)


def test_in_the_space_of_blob_files_it_keeps_keys_and_values_apart():
    problem, found = begins(workload="kioxia-t2", space="blob", memory=900 * MIB)
    assert found["enable_blob_files"] is True and found["enable_blob_garbage_collection"] is True
    assert found["blob_file_size"] == pytest.approx(160e6, rel=0.02)
    assert found["write_buffer_size"] == pytest.approx(168e6, rel=0.02)
    assert found["level0_slowdown_writes_trigger"] == 36
    assert found["max_write_buffer_number"] == 5
    assert "max_write_buffer_number 5 instead of 13" in problem.starts[0].changed


def test_in_a_space_without_them_files_and_codec_stay_at_the_baseline():
    problem, found = begins()
    base = problem.space.context
    for name in ("target_file_size_base", "max_bytes_for_level_base", "compression_type"):
        assert found[name] == base[name], name
    assert found["level0_stop_writes_trigger"] == 48


def test_it_keeps_the_memory_of_the_job():
    for memory in (64, 136, 384):
        problem, found = begins(space="blob", memory=memory * MIB)
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
