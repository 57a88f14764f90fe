"""A clock that a test sets, a batch of small jobs, and what became of its nights."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Engine

from db.nightly.batches import BatchRow, read_batches
from jobs.batch.batch_plan import BatchPlan, read_batch
from tests.support.jobs.instant import write_space, write_workload
from tests.support.jobs.service_desk import wait_until
from tests.support.jobs.worker_scene import SCRIPT, Scene

NIGHTLY = """\
name = "nightly"
workloads = ["workload.toml"]
spaces = ["space.toml"]
objective = "waf"
strategy = "random"
trials = 12
[[job]]
name = "again"
workload = "workload.toml"
space = "space.toml"
seed = 7
"""
ITEMS = ["workload/space", "again"]


@dataclass
class Clock:
    now: datetime = datetime(2026, 3, 27, 12, tzinfo=UTC)

    def set(self, text: str) -> None:
        """To a time in UTC, as 2026-03-28 01:30."""
        self.now = datetime.fromisoformat(text).replace(tzinfo=UTC)


def write_nightly(folder: Path, text: str = NIGHTLY, *, script: str | None = None) -> Path:
    """A nightly.toml with the files that it names beside it."""
    write_workload(folder, script=script)
    write_space(folder)
    path = folder / "nightly.toml"
    path.write_text(text)
    return path


def plan_of(scene: Scene) -> BatchPlan:
    """The batch, with runs that wait while ``scene.hold`` is there."""
    return read_batch(write_nightly(scene.folder, script=SCRIPT.format(folder=scene.folder)))


def batches(engine: Engine) -> list[BatchRow]:
    """All batches, the oldest first."""
    return read_batches(engine, limit=100)[::-1]


def await_batches(engine: Engine, *states: str) -> list[BatchRow]:
    """The batches, once their states are these."""

    def look() -> list[BatchRow] | None:
        found = batches(engine)
        assert len(found) <= len(states), found
        for each, wanted in zip(found, states, strict=False):
            assert each.state.value in ("running", wanted), each  # it will not become that
        return found if [each.state.value for each in found] == list(states) else None

    return wait_until(look, seconds=60, what=f"batches are {states}")
