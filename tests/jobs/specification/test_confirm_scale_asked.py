"""`--confirm-scale`: from the words of a user to what is measured."""

from pathlib import Path

import pytest

from jobs.execution.assembly import LocalHost, assemble
from jobs.specification.named_files import specify
from jobs.specification.resolved_job import resolve
from jobs.specification.specification import specification_from_document
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.bench.db_bench import DbBench
from sampler.bench.outcome import TrialState
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.space.space import digest
from tests.support.jobs.instant import write_space, write_workload


def test_the_load_grows_with_the_options():
    problem = resolve(specify(workload="load-quick", confirm_scale=8), None).problem
    assert (problem.workload.num, problem.workload.scale) == (100_000, 64)
    assert (problem.confirm.num, problem.confirm.scale) == (800_000, 8)
    assert problem.confirm.timeout_seconds == 8 * problem.workload.timeout_seconds
    other = resolve(specify(workload="load-quick", scale=32, confirm_scale=8), None).problem
    assert other.confirm.num == 400_000


def test_a_job_without_it_is_the_job_that_it_was():
    plain, asked = specify(), specify(confirm_scale=8)
    assert resolve(plain, None).problem.confirm is None
    older = plain.document()
    del older["confirm_scale"]  # as an earlier version stored it
    assert specification_from_document(older) == plain
    assert specification_from_document(asked.document()) == asked
    same = asked.model_copy(update={"confirm_scale": None})
    assert plain.digest() == same.digest() != asked.digest()


@pytest.mark.parametrize(
    ("scale", "confirm"), [(None, 64), (None, 100), (8, 8), (None, 0), (1, 1)]
)
def test_what_is_no_larger_scale_is_refused(scale: int | None, confirm: int):
    with pytest.raises(InputError, match=r"confirm_scale: .*not a larger scale") as caught:
        specify(scale=scale, confirm_scale=confirm)
    assert f"1/{scale or 64}" in caught.value.problem


def test_a_benchmark_of_the_users_own_cannot_be_made_larger(tmp_path: Path):
    workload, space = str(write_workload(tmp_path)), str(write_space(tmp_path))
    with pytest.raises(InputError, match="confirm_scale: applies only to a load of db_bench"):
        specify(workload=workload, space=space, confirm_scale=1)


def test_a_batch_asks_for_it_by_the_same_name():
    assert specify(confirm_scale=8).confirm_scale == 8
    with pytest.raises(InputError, match="confirm_scale: '8' is not a whole number"):
        specify(confirm_scale="8")


@pytest.mark.slow
@pytest.mark.db_bench
def test_only_the_confirmation_measures_the_larger_load(settings: Settings, tmp_path: Path):
    path = tmp_path / "small.toml"
    path.write_text('name = "small"\nnum = 1300\nvalue_size = 26000\n')
    assembly = assemble(specify(workload=str(path), confirm_scale=32), settings)
    assert isinstance(assembly.confirming, DbBench)
    host = LocalHost(assembly, settings, pause=lambda _: None)
    written = {}
    for phase in (Phase.SEARCH, Phase.CONFIRM):
        configuration = assembly.problem.space.default_configuration()
        trial = Trial(
            number=1, phase=phase, purpose=Purpose.BASELINE, seed=1,
            configuration=configuration, digest=digest(configuration), subject=1,
        )  # fmt: skip
        host.start(trial, cutoff_seconds=None)
        while (ended := host.wait(10)) is None:
            pass
        _, outcome = ended
        assert outcome.state is TrialState.DONE
        assert outcome.effective == configuration  # at full scale, from either
        written[phase] = outcome.counters["bytes.written"]
    assert written[Phase.CONFIRM] == pytest.approx(2 * written[Phase.SEARCH], rel=0.01)
