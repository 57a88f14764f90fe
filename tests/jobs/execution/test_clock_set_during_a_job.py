"""The machine's clock is set in the middle of a job: that run counts for nothing."""

from pathlib import Path

import pytest
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from jobs.execution.assembly import assemble
from jobs.execution.run_job import run_job
from jobs.specification.named_files import specify
from optimizer.run.ports import Unwatched
from sampler.bench import process
from sampler.bench.outcome import TrialState
from sampler.bench.settings import Settings

STRUCK = 5  # of the runs of the benchmark
TRIALS = 12
WORKLOAD = """name = "tiny"
benchmarks = ["fillseq"]
num = 40000
settle = "flush"
"""
SPACE = """name = "blocks"
[[parameter]]
name = "block_size"
low = 16384
high = 65536
"""


@pytest.mark.one_database
@pytest.mark.slow
@pytest.mark.db_bench
def test_the_run_is_made_again(
    database: Engine, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "tiny.toml").write_text(WORKLOAD)
    (tmp_path / "blocks.toml").write_text(SPACE)
    specification = specify(
        workload=str(tmp_path / "tiny.toml"), space=str(tmp_path / "blocks.toml"),
        objective="sa", strategy="lhs", trials=TRIALS, no_price=True,
    )  # fmt: skip
    job = JobStore(database).create_job(specification.document(), specification.digest())
    real, asked = process._clocks, [0]

    def clocks() -> tuple[float, float]:
        asked[0] += 1
        monotonic, wall = real()
        return monotonic, wall - (7200 if asked[0] == 2 * STRUCK else 0)

    monkeypatch.setattr(process, "_clocks", clocks)
    run_job(
        database, job, specification, assemble(specification, settings), settings,
        progress=Unwatched(),
    )  # fmt: skip
    assert asked[0] == 2 * (TRIALS + 1)
    trials = JobStore(database).trials(job)
    assert [trial.number for trial in trials] == list(range(1, TRIALS + 1))
    assert {trial.state for trial in trials} == {TrialState.DONE}
    assert [(t.number, t.attempt) for t in trials if t.attempt > 1] == [(STRUCK, 2)]
