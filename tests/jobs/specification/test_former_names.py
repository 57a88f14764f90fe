"""A strategy that had another name once is found by that too, wherever somebody has written it."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from cli.main import main
from db.jobs.job_store import JobStore, read_jobs
from jobs.batch.batch_plan import batch_request, plan_from_document, read_batch
from jobs.specification.named_files import specify
from jobs.specification.request import JobRequest
from jobs.specification.specification import Specification, specification_from_document
from optimizer.strategies.registry import STRATEGIES, find_strategy
from optimizer.trials.problem import FORMER_NAMES, SearchSettings

# Of the job below, as the version before the new name made it.
DIGEST = "72c0278908be7004c5dc9e0ad160a491869262cb142ea82063ead56de28b048a"
LINE = "the strategy forest is now called guided; both names work"
NIGHTLY = 'name = "nightly"\nworkloads = ["load-quick"]\ntrials = 24\n{more}'


def small(**more: Any) -> Specification:
    return Specification(
        workload={"name": "w"}, space={"name": "s"}, objective={"name": "o"}, shipped_space=True,
        search=SearchSettings(), trials=24, **more,
    )  # fmt: skip


def test_a_former_name_is_that_of_no_other_strategy() -> None:
    assert not FORMER_NAMES.keys() & STRATEGIES.keys()
    for former, now in FORMER_NAMES.items():
        assert find_strategy(former) is STRATEGIES[now]


@pytest.mark.parametrize("more", [{}, {"strategy": "forest"}, {"strategy": "guided"}])
def test_what_is_asked_by_any_of_the_names_is_one_job_and_the_one_of_before(more: Any) -> None:
    assert JobRequest(**more).strategy == "guided"
    assert small(**more).strategy == "guided"
    assert small(**more).digest() == DIGEST
    assert small(strategy="genetic").digest() != DIGEST


def test_a_stored_job_is_read_and_listed_and_found_under_the_new_name(database: Engine) -> None:
    store = JobStore(database)
    asked = specify(trials=24)
    job_id = store.create_job({**asked.document(), "strategy": "forest"}, asked.digest())
    store.create_job({**asked.document(), "strategy": "genetic"}, "d")
    row = store.newest_job_with(asked.digest())
    assert (row.id, row.specification["strategy"]) == (job_id, "guided")
    assert specification_from_document(row.specification) == asked
    assert [job.asked["strategy"] for job in read_jobs(database, limit=9)] == ["genetic", "guided"]
    assert [job.id for job in read_jobs(database, limit=9, search="guided")] == [job_id]


@pytest.mark.parametrize("more", ["", 'strategy = "forest"', 'strategy = "guided"'])
def test_a_batch_goes_on_with_its_series_of_nights(tmp_path: Path, more: str) -> None:
    told: list[str] = []
    file = tmp_path / "nightly.toml"
    file.write_text(NIGHTLY.format(more=more), encoding="utf-8")
    plan = read_batch(file, told.append)
    stored = plan.document()  # as a version before kept it
    stored["items"][0]["specification"]["strategy"] = "forest"
    assert plan_from_document(stored).digest() == plan.digest()
    assert plan_from_document(stored) == plan
    batch_request(file, told.append)
    assert told == ([f"nightly.toml: {LINE}"] * 2 if "forest" in more else [])


def test_a_terminal_says_the_new_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--strategy", "forest", "--trials", "3"]) == 2
    assert f"rocktune: {LINE}\n" in capsys.readouterr().err
    assert main(["tune", "--strategy", "guided", "--trials", "3"]) == 2
    assert LINE not in capsys.readouterr().err
