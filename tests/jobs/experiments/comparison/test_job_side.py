"""A job's winner as one side."""

import pytest
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from jobs.experiments.comparison import subject_of
from jobs.experiments.sides import side_of_job
from jobs.specification.named_files import specify
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.space.starting_points import Room, values_of
from sampler.workload.workload_file import load_workload


def job(engine: Engine, best: dict[str, object] | None = None, **asked: object) -> int:
    specification = specify(**asked)  # type: ignore[arg-type]
    number = JobStore(engine).create_job(specification.document(), specification.digest())
    if best is not None:
        found = {"trial": 40, "configuration": best} if best else None
        JobStore(engine).save_result(number, {"best": found})
    return number


def test_the_winner_over_the_jobs_own_baseline_without_its_load(database: Engine):
    best: dict[str, object] = {"block_size": 8192, "threads": 4}
    found = side_of_job(database, job(database, best, space="paper"), "B")
    assert (found.base, found.options, found.build) == ("db_bench", None, None)
    assert found.values == {"block_size": 8192}
    assert found.notes == ("threads = 4 of job 1 describes its load and is left out here",)
    assert found.what == "the best of job 1, trial 40"


def test_the_users_own_file_goes_along(database: Engine, tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("own") / "OPTIONS"
    path.write_text('[DBOptions]\n[CFOptions "default"]\n  num_levels=6\n')
    found = side_of_job(database, job(database, {"bloom_bits": 10}, baseline=str(path)), "B")
    assert (found.base, found.options) == ("library", path.read_text())


@pytest.mark.db_bench
def test_a_winner_is_measured_over_the_starting_point_that_was_its_baseline(
    database: Engine, settings: Settings
):
    found = side_of_job(database, job(database, {"block_size": 8192}, space="samsung"), "B")
    assert found.base == "samsung-baseline"
    load = load_workload("samsung-80-20")
    values = subject_of("B", found, [load], settings, field="B").values[load.name]
    point = values_of("samsung-baseline", None, Room(2, 128 * 2**20))
    assert point and {name: values[name] for name in point} == {**point, "block_size": 8192}


def test_a_job_without_a_winner_is_refused(database: Engine):
    queued, without = job(database), job(database, {})
    for number, said in (
        (9, "B: there is no job 9 in this database"),
        (queued, f"B: job {queued} is queued and has no result"),
        (without, f"B: job {without} found nothing better"),
    ):
        with pytest.raises(InputError, match=said):
            side_of_job(database, number, "B")
