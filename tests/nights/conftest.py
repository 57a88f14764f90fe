import pytest

from jobs import schedule
from tests.support.cli.fixtures import desk, here, zygote  # noqa: F401
from tests.support.jobs.night_scene import Clock
from tests.support.jobs.worker_scene import scene  # noqa: F401


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time by which schedules are due, as the test sets it."""
    clock = Clock()
    monkeypatch.setattr(schedule, "present", lambda _: clock.now)
    return clock
