"""What the doctor says of the conditions of runs."""

from collections.abc import Iterator

import pytest

from jobs.doctor import idle_host
from jobs.doctor.finding import Severity
from jobs.doctor.idle_host import look_at_conditions
from sampler.runner.settings import Settings


def test_a_probe_that_is_switched_off_is_no_good_news(settings: Settings):
    found = look_at_conditions(settings.model_copy(update={"speed_probe": False}))
    assert (found.level, found.found) == (Severity.NOTE, "not read: machine_speed")
    assert "ROCKTUNE_SPEED_PROBE" in found.advice


def test_it_says_how_much_the_speed_scatters(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    speeds: Iterator[float] = iter((1.0, 1.1, 1.0, 1.1))

    class Looked:
        def __init__(self, *_: object, **__: object) -> None:
            pass

        def end(self) -> dict[str, float]:
            return {"others_cpu": 0.0, "machine_speed": next(speeds)}

    monkeypatch.setattr(idle_host, "Conditions", Looked)
    found = look_at_conditions(settings)
    assert found.level is Severity.OK
    assert found.found == "others_cpu and machine_speed are read; the speed scattered by 5.5%"
