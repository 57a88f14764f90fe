"""A disk that is full or cannot be written to in the middle of a job, on this machine."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sampler.bench.outcome import TrialState
from tests.support.cli.terminal import Desk
from tests.support.db.failing_disk import FailingDisk, failing_disk
from tests.support.db.stored_trials import trials_of
from tests.support.jobs.instant import SCRIPT, left_running, write_space, write_workload
from tests.support.sampler.small_disk import SmallDisk, made_or_skipped, small_disk

pytestmark = pytest.mark.slow

TRIALS = 24
STRIKES_AT = 9
# Once, at the beginning of a run: the line of a shell that spoils the disk.
STRIKE = """\
echo run >> '{folder}/runs'
if [ "$(wc -l < '{folder}/runs')" -eq {at} ]; then {spoil}; fi
"""
FULL = "cat /dev/zero > '{disk}/filler' 2> /dev/null"
NEARLY_FULL = "stopped: the disk of the bench folder was nearly full"


@pytest.fixture
def disk(desk: Desk) -> Iterator[SmallDisk]:
    yield from made_or_skipped(small_disk(desk.folder / "disk", 80 * 2**20))


@pytest.fixture
def failing(desk: Desk) -> Iterator[FailingDisk]:
    yield from made_or_skipped(failing_disk(desk.folder / "disk", 200 * 2**20))


def arguments(desk: Desk, disk: Path, spoil: str, **places: Path) -> list[object]:
    strike = STRIKE.format(folder=desk.folder, at=STRIKES_AT, spoil=spoil.format(disk=disk))
    program = SCRIPT.format(wins="fast", record=strike, noise=50)
    workload = write_workload(desk.folder, script=program)
    database, out = places.get("db", Path(desk.database)), places.get("out", desk.out)
    return ["tune", "--workload", workload, "--space", write_space(desk.folder),
            "--objective", "waf", "--strategy", "random", "--trials", TRIALS,
            "--db", database, "--out", out, "--resume"]  # fmt: skip


def remount(disk: SmallDisk, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(disk.folder)], check=True)


def mark(disk: SmallDisk | FailingDisk) -> str:
    """Of what runs where the bench folder is on the disk."""
    return f"ROCKTUNE_BENCH_DIR={disk.folder / 'b'}"


def test_that_of_the_database_fills(desk: Desk, disk: SmallDisk):
    database = disk.folder / "rocktune.db"
    given = arguments(desk, disk.folder, FULL, db=database)
    ended = desk.run(*given)
    assert ended.returncode in (1, 2), ended.stderr
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith("rocktune: ") and "full" in last, ended.stderr
    assert "Traceback" not in ended.stderr and left_running(desk.mark) == []
    disk.free()
    kept = [trial for trial in trials_of(str(database)) if trial.state is TrialState.DONE]
    assert len(kept) >= STRIKES_AT - 2, "what was measured before is kept"
    again = desk.run(*given)
    assert again.returncode in (0, 3), again.stderr
    trials = trials_of(str(database))
    assert [trial.number for trial in trials] == list(range(1, TRIALS + 1))
    assert {trial.state for trial in trials} == {TrialState.DONE}
    assert trials[: len(kept)] == kept, "and is as it was"


def test_that_of_the_bench_folder_fills(desk: Desk, disk: SmallDisk):
    there = Desk(desk.folder, {**desk.environment, "ROCKTUNE_BENCH_DIR": str(disk.folder / "b")})
    given = arguments(desk, disk.folder, FULL)
    ended = there.run(*given)
    assert ended.returncode in (1, 2), ended.stderr
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith("rocktune: ") and str(disk.folder / "b") in last, ended.stderr
    assert "Traceback" not in ended.stderr and left_running(mark(disk)) == []
    kept = [t for t in trials_of(desk.database) if t.state is not TrialState.RUNNING]
    assert len(kept) == STRIKES_AT
    assert {trial.state for trial in kept[:-1]} == {TrialState.DONE}
    struck = kept[-1]
    assert (struck.state, struck.failure) == (TrialState.FAILED, NEARLY_FULL)
    disk.free()
    again = there.run(*given)
    assert again.returncode in (0, 3), again.stderr
    trials = trials_of(desk.database)
    assert [trial.number for trial in trials] == list(range(1, TRIALS + 1))
    assert trials[:STRIKES_AT] == kept, "what was measured before is as it was"
    assert {trial.state for trial in trials[STRIKES_AT:]} == {TrialState.DONE}
    assert (desk.folder / "runs").read_text().count("run") == TRIALS, "and not measured again"
    shutil.rmtree(disk.folder / "b")


def test_that_of_the_results_fills(desk: Desk, disk: SmallDisk):
    """All is measured then: nothing of it is lost, and to write it again measures nothing."""
    given = arguments(desk, disk.folder, FULL, out=disk.folder / "out")
    ended = desk.run(*given)
    assert ended.returncode in (1, 2), ended.stderr
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith("rocktune: ") and str(disk.folder / "out") in last, ended.stderr
    assert "Traceback" not in ended.stderr
    disk.free()
    measured = (desk.folder / "runs").read_text().count("run")
    assert measured == TRIALS
    again = desk.run(*given)
    assert again.returncode in (0, 3), again.stderr
    assert (desk.folder / "runs").read_text().count("run") == measured
    assert (disk.folder / "out" / "result.json").is_file()
    assert {path.name for path in (disk.folder / "out").iterdir()} >= {"report.html", "trials.csv"}


@pytest.mark.parametrize(
    ("place", "field"), [("db", "--db"), ("bench", "ROCKTUNE_BENCH_DIR"), ("out", "--out")]
)
def test_one_that_is_read_only_is_told_before_anything_is_measured(
    place: str, field: str, desk: Desk, disk: SmallDisk
):
    there = Desk(
        desk.folder,
        {"ROCKTUNE_BENCH_DIR": str(disk.folder / "b")} if place == "bench" else {},
    )
    places = {"db": disk.folder / "r.db"} if place == "db" else {}
    places |= {"out": disk.folder / "out"} if place == "out" else {}
    given = arguments(desk, disk.folder, "true", **places)
    remount(disk, "ro")
    ended = there.run(*given)
    remount(disk, "rw")
    assert ended.returncode == 2, ended.stderr
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith(f"rocktune: {field}: ") and str(disk.folder) in last, ended.stderr
    assert not (desk.folder / "runs").exists()
    again = there.run(*given)
    assert again.returncode in (0, 3), again.stderr
    assert left_running(mark(disk)) == []


@pytest.mark.parametrize("place", ["db", "bench", "out"])
def test_one_that_turns_read_only_in_the_middle_stops_the_job_which_goes_on_when_it_is_mended(
    place: str, desk: Desk, failing: FailingDisk
):
    """As after an error of the disk; what had reached it before is there when it is mended."""
    there = Desk(
        desk.folder,
        {"ROCKTUNE_BENCH_DIR": str(failing.folder / "b")} if place == "bench" else {},
    )
    places = {"db": failing.folder / "r.db"} if place == "db" else {}
    places |= {"out": failing.folder / "out"} if place == "out" else {}
    database = places.get("db", Path(desk.database))
    given = arguments(desk, failing.folder, f"sync; {failing.spoil}", **places)
    ended = there.run(*given)
    assert ended.returncode in (1, 2), ended.stderr
    last = ended.stderr.strip().splitlines()[-1]
    said = {"db": "--db: the database failed: ", "bench": "ROCKTUNE_BENCH_DIR: ", "out": "--out: "}
    assert last.startswith(f"rocktune: {said[place]}"), ended.stderr
    assert "Traceback" not in ended.stderr
    assert left_running(mark(failing)) == left_running(desk.mark) == []
    failing.repair()
    kept = [trial for trial in trials_of(str(database)) if trial.state is TrialState.DONE]
    assert len(kept) >= STRIKES_AT - 2, "what was measured before is kept"
    again = there.run(*given)
    assert again.returncode in (0, 3), again.stderr
    trials = trials_of(str(database))
    assert [trial.number for trial in trials] == list(range(1, TRIALS + 1))
    done = [trial for trial in trials if trial.state is TrialState.DONE]
    assert done[: len(kept)] == kept, "and is as it was"
    struck = 1 if place == "bench" else 0
    assert len(done) == TRIALS - struck
    if place == "out":
        assert len(kept) == TRIALS
        assert (desk.folder / "runs").read_text().count("run") == TRIALS
        assert (failing.folder / "out" / "result.json").is_file()
