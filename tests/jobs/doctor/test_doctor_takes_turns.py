"""When db_bench is started: after the load was looked at, and under the host's lock."""

import os
from pathlib import Path

import pytest

from jobs.doctor import examination
from jobs.doctor.examination import examine
from jobs.doctor.findings import ExaminationObserver, Finding
from jobs.specification.named_files import specify
from sampler.bench.host_lock import host_lock
from sampler.bench.settings import Settings

# Writes down whether the lock was held when it was started; it measures nothing.
SCRIPT = """\
#!/bin/sh
if flock -n '{lock}' true; then echo free; else echo held; fi >> '{record}'
echo 'made up' >&2
exit 1
"""


class Scene:
    """A machine with such a db_bench, and no folder to measure a disk in."""

    def __init__(self, folder: Path) -> None:
        self.record = folder / "record"
        program = folder / "db_bench"
        (folder / "file").write_text("")
        self.settings = Settings(
            db_bench=str(program), bench_dir=folder / "file" / "bench", lock=folder / "lock"
        )
        program.write_text(SCRIPT.format(lock=self.settings.lock, record=self.record))
        program.chmod(0o755)
        self.started_before: dict[str, bool] = {}

    def found(self, finding: Finding) -> None:
        self.started_before[finding.check] = self.record.exists()

    def examine(self, runs: int = 0) -> dict[str, Finding]:
        def never(*_: object) -> None:
            raise AssertionError("nothing is waited for, nothing run")

        observer = ExaminationObserver(found=self.found, waiting=never, began=never, ended=never)
        diagnosis = examine(specify(), self.settings, runs=runs, observer=observer)
        return {finding.check: finding for finding in diagnosis.findings}


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(examination, "WATCH_SECONDS", 0.05)
    return Scene(tmp_path)


@pytest.mark.parametrize("runs", [0, 2])
def test_db_bench_is_tried_last_and_under_the_lock(scene: Scene, runs: int):
    findings = scene.examine(runs)
    assert findings["db_bench"].level == "problem"
    assert findings["db_bench"].found.endswith("db_bench does not work: made up")
    assert set(scene.record.read_text().split()) == {"held"}
    assert {check for check, started in scene.started_before.items() if started} == {
        "db_bench",
        *(["noise"] if runs else []),
    }
    # What was held is free again.
    with host_lock(scene.settings.lock, "test", pause=pytest.fail):
        pass


def test_a_quick_look_starts_nothing_beside_a_trial(scene: Scene):
    with host_lock(scene.settings.lock, "a trial", pause=pytest.fail):
        findings = scene.examine()
    assert not scene.record.exists()
    assert findings["db_bench"].level == "note"
    assert findings["db_bench"].found.endswith("db_bench, not tried: a trial is running here")
    assert findings["benchmarks"].found == f"process {os.getpid()} is running a trial on this host"


def test_without_a_lock_nothing_is_started(scene: Scene):
    scene.settings.lock = scene.settings.lock.parent / "none" / "lock"
    findings = scene.examine(runs=2)
    assert not scene.record.exists()
    assert findings["lock"].level == "problem"
    assert "not tried: cannot open the host's lock" in findings["db_bench"].found
    assert findings["noise"].found.startswith("not measured: lock: cannot open")
