"""Which hosts are left alone, for how long, and when they are used again."""

import pytest

from jobs.cluster.cluster import Backoff


class Scene:
    """Hosts on a clock that a test sets."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.told: list[str] = []
        self.resting = Backoff(self.told.append, clock=lambda: self.seconds)

    def goes(self, times: int, host: str = "odd") -> None:
        for _ in range(times):
            self.resting.went_away(host)

    def rests_for(self, host: str = "odd") -> float:
        """How long it is left alone from now on; 0 where it is not."""
        began = self.seconds
        while self.resting.rests(host):
            self.seconds += 1.0
        rested, self.seconds = self.seconds - began, began
        return rested


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_host_that_cannot_measure_rests_for_half_a_minute(scene: Scene):
    scene.resting.rest("odd", "its disk is full")
    assert scene.rests_for() == 30
    assert scene.rests_for("even") == 0
    assert scene.told == ["host odd gets no trials for 30 s: its disk is full"]


def test_one_that_went_away_twice_is_used_as_soon_as_it_is_back(scene: Scene):
    scene.goes(2)
    assert scene.rests_for() == 0
    assert scene.told == []


def test_one_that_keeps_going_away_rests_longer_each_time_and_not_without_end(scene: Scene):
    scene.goes(2)
    rests = []
    for _ in range(9):
        scene.goes(1)
        rests.append(scene.rests_for())
        scene.seconds += rests[-1]
    assert rests == [30, 60, 120, 240, 480, 960, 1920, 1920, 1920]
    why = "it disconnected 3 times in a row during a trial"
    assert scene.told[0] == f"host odd gets no trials for 30 s: {why}"


def test_one_that_has_measured_since_begins_anew(scene: Scene):
    scene.goes(2)
    scene.resting.measured("odd")
    scene.goes(2)
    assert scene.rests_for() == 0
    scene.goes(1, host="even")
    assert scene.rests_for("even") == 0, "each host is counted by itself"
    scene.goes(1)
    assert scene.rests_for() == 30


def test_one_that_never_went_may_measure(scene: Scene):
    scene.resting.measured("even")
    assert not scene.resting.rests("even")
