"""What the doctor says of the conditions of runs."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from jobs.doctor import examination
from jobs.doctor.examination import look_at_conditions
from jobs.doctor.findings import Finding, Severity
from sampler.bench.settings import Settings

SPEEDS = (1.0, 1.1, 1.0, 1.1)


def look(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, speeds: Sequence[float] = SPEEDS
) -> Finding:
    """What is found without waiting, where looks tell these speeds."""
    told: Iterator[float] = iter(speeds)

    class Looked:
        def __init__(self, folder: Path, _: object, *, probe: bool) -> None:
            assert folder.is_dir() and folder.parent == settings.bench_dir
            self._probe = probe

        def end(self) -> dict[str, float]:
            speed = next(told, None) if self._probe else None
            return {"others_cpu": 0.0, **({"machine_speed": speed} if speed else {})}

    monkeypatch.setattr(examination, "Conditions", Looked)
    found = look_at_conditions(settings, pause=lambda _: None)
    assert not settings.bench_dir.is_dir() or list(settings.bench_dir.iterdir()) == []
    return found


def switched(settings: Settings, *, on: bool) -> Settings:
    return settings.model_copy(update={"speed_probe": on})


def test_a_probe_that_is_switched_off_is_no_good_news(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    found = look(switched(settings, on=False), monkeypatch)
    assert (found.level, found.found) == (Severity.NOTE, "missing: machine_speed")
    assert "ROCKTUNE_SPEED_PROBE" in found.advice


def test_a_probe_that_told_nothing_was_not_switched_off(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    found = look(switched(settings, on=True), monkeypatch, SPEEDS[:2])
    assert (found.level, found.found) == (Severity.NOTE, "missing: machine_speed")
    assert "too little time" in found.advice and "ROCKTUNE_SPEED_PROBE" not in found.advice


def test_a_bench_folder_that_cannot_be_made_is_said(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "file").touch()
    nowhere = settings.model_copy(update={"bench_dir": tmp_path / "file" / "bench"})
    found = look(nowhere, monkeypatch)
    assert (found.level, found.advice) == (Severity.NOTE, "check ROCKTUNE_BENCH_DIR")
    assert "cannot make a folder" in found.found


def test_it_says_how_much_the_speed_scatters(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    found = look(switched(settings, on=True), monkeypatch)
    assert found.level is Severity.OK
    assert found.found == "others_cpu and machine_speed are available; the speed varied by 5.5%"
