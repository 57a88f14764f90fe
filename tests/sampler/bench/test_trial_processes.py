"""Trials of two processes: limits, ends and copies; the real processes are shell scripts."""

import os
from pathlib import Path
from typing import Any

import pytest

from sampler.bench.bench_folder import FOLDER
from sampler.bench.host_lock import host_lock
from sampler.bench.outcome import Outcome, TrialState
from sampler.bench.process import HELD_BYTES, BenchProcess, Limits
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from tests.support.sampler.two_stages import TwoStages
from tests.support.sampler.watching import gone, make_fifo, read_line

FOREVER = "exec tail -f /dev/null"
FILL = "echo 7 >db/CURRENT"
SHOW = "cat db/CURRENT"


def run(
    benchmark: TwoStages, settings: Settings, *, cutoff: float | None = None, share: bool = False
) -> Outcome:
    runner = LocalRunner(benchmark, settings, pause=pytest.fail)
    runner.start({}, cutoff_seconds=cutoff, share=share)
    while (outcome := runner.wait(1.0)) is None:
        pass
    return outcome


def left(settings: Settings) -> list[str]:
    return sorted(path.name for path in settings.bench_dir.iterdir())


def test_what_is_measured_finds_what_was_prepared_and_both_count(settings: Settings):
    outcome = run(TwoStages(FILL, SHOW), settings)
    assert (outcome.state, outcome.metrics["x"]) == (TrialState.DONE, 7)
    assert outcome.bench_seconds > outcome.metrics["wall"]
    assert left(settings) == []


def test_a_preparation_goes_on_when_it_is_at_rest(settings: Settings):
    held = f"echo held; head -c {HELD_BYTES} /dev/zero"
    resting = f"true; {{ {FILL}; touch rested; }} & {held}; test -e rested"
    outcome = run(TwoStages(resting, SHOW), settings)
    assert (outcome.state, outcome.metrics["x"]) == (TrialState.DONE, 7)


@pytest.mark.parametrize(
    ("first", "state", "reason"),
    [
        ("echo no >&2; exit 3", TrialState.FAILED, "prepared: no"),
        ("kill -KILL $$", TrialState.FAILED, "prepared: killed by SIGKILL"),
        ("yes", TrialState.FAILED, "prepared: stopped: it printed too much"),
    ],
    ids=["refused", "killed", "flood"],
)
def test_what_cannot_be_prepared_is_not_measured(
    first: str, state: TrialState, reason: str, settings: Settings, tmp_path: Path
):
    outcome = run(TwoStages(first, f"touch {tmp_path}/measured; echo 1"), settings)
    assert (outcome.state, outcome.failure) == (state, reason)
    assert not (tmp_path / "measured").exists()
    assert left(settings) == []


def test_the_second_may_fail_too(settings: Settings):
    outcome = run(TwoStages(FILL, "echo worse >&2; exit 4"), settings)
    assert (outcome.state, outcome.failure) == (TrialState.FAILED, "worse")
    assert left(settings) == []


@pytest.mark.parametrize("limit", ["timeout", "cutoff"])
@pytest.mark.parametrize("slow", ["first", "second"])
def test_either_process_is_ended_at_the_limit(limit: str, slow: str, settings: Settings):
    scripts = (f"{FILL}; {FOREVER}", SHOW) if slow == "first" else (FILL, FOREVER)
    benchmark = TwoStages(*scripts, timeout_seconds=0.5 if limit == "timeout" else 30.0)
    outcome = run(benchmark, settings, cutoff=0.5 if limit == "cutoff" else None)
    expected = TrialState.TIMED_OUT if limit == "timeout" else TrialState.CENSORED
    assert outcome.state is expected
    assert (outcome.failure or "").startswith("prepared: ") == (slow == "first")
    assert outcome.bench_seconds >= 0.5
    assert left(settings) == []


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Limits, BenchProcess]]:
    """The processes that trials begin, each with its limits."""
    seen: list[tuple[Limits, BenchProcess]] = []

    class Seen(BenchProcess):
        def __init__(self, *args: Any, limits: Limits, **given: Any) -> None:
            seen.append((limits, self))
            super().__init__(*args, limits=limits, **given)

    monkeypatch.setattr("sampler.bench.runner.BenchProcess", Seen)
    return seen


def test_the_second_has_what_the_first_has_left_of_each_limit(begun, settings: Settings):
    run(TwoStages(FILL, SHOW), settings, cutoff=20.0)
    (first, filling), (second, _) = begun
    took = filling.cancel().wall_seconds  # it has ended: nothing happens
    assert (first.timeout_seconds, first.cutoff_seconds) == (30.0, 20.0)
    assert (second.timeout_seconds, second.cutoff_seconds) == (30.0 - took, 20.0 - took)


@pytest.mark.parametrize("stage", ["first", "second"])
def test_cancelled_in_either_process_nothing_runs_on(
    stage: str, settings: Settings, tmp_path: Path
):
    pipe = make_fifo(tmp_path / "pipe")
    waits = f"echo $$ >{tmp_path}/pipe; {FOREVER}"
    scripts = (waits, SHOW) if stage == "first" else (FILL, waits)
    runner = LocalRunner(TwoStages(*scripts), settings, pause=pytest.fail)
    runner.start({})
    if stage == "second":
        while not list(settings.bench_dir.glob("*/prepared.json")):
            assert runner.wait(0.05) is None
    process = int(read_line(pipe))
    runner.cancel()
    assert gone(process)
    assert left(settings) == []
    os.close(pipe)


def test_a_second_that_cannot_be_started_leaves_nothing_and_frees_the_host(settings: Settings):
    runner = LocalRunner(TwoStages(FILL, ":" * 2**18), settings, pause=pytest.fail)
    runner.start({})
    with pytest.raises(InputError, match="benchmark: cannot be started"):
        while runner.wait(1.0) is None:
            pass
    assert left(settings) == []
    with host_lock(settings.lock, "next", pause=pytest.fail):
        runner.cancel()


class TestCopies:
    def test_of_equal_preparations_the_second_is_a_copy(self, settings: Settings, tmp_path: Path):
        filling = f"echo once >>{tmp_path}/filled; {FILL}"
        outcomes = [run(TwoStages(filling, SHOW, shared="k"), settings, share=True) for _ in "ab"]
        assert [outcome.metrics["x"] for outcome in outcomes] == [7, 7]
        assert (tmp_path / "filled").read_text() == "once\n"
        assert outcomes[1].bench_seconds == outcomes[1].metrics["wall"]
        assert left(settings) == [FOLDER]

    @pytest.mark.parametrize(
        ("share", "keys", "most"),
        [(False, "kk", 1000), (True, "kl", 1000), (True, [None, None], 1000), (True, "kk", 0)],
        ids=["a proof", "another key", "a workload that wants none", "switched off"],
    )
    def test_otherwise_each_is_prepared(self, share, keys, most, settings: Settings, tmp_path):
        where = settings.model_copy(update={"prepared_bytes": most})
        filling = f"echo again >>{tmp_path}/filled; {FILL}"
        for key in keys:
            run(TwoStages(filling, SHOW, shared=key), where, share=share)
        assert (tmp_path / "filled").read_text() == "again\n" * 2

    def test_what_a_proof_prepares_is_not_kept(self, settings: Settings):
        run(TwoStages(FILL, SHOW, shared="k"), settings, share=False)
        assert left(settings) == []

    def test_a_preparation_that_failed_is_not_kept(self, settings: Settings):
        run(TwoStages(f"{FILL}; exit 1", SHOW, shared="k"), settings, share=True)
        assert left(settings) == []

    def test_a_trial_of_a_copy_has_the_limits_that_it_would_have_without(
        self, begun, settings: Settings
    ):
        for _ in range(2):
            run(TwoStages(FILL, SHOW, shared="k"), settings, cutoff=20.0, share=True)
        assert len(begun) == 3
        prepared, copied = begun[1][0], begun[2][0]
        assert copied.timeout_seconds == prepared.timeout_seconds
        assert copied.cutoff_seconds == prepared.cutoff_seconds

    def test_on_a_disk_too_full_copies_go_before_a_trial_is_refused(self, settings: Settings):
        run(TwoStages(FILL, SHOW, shared="k"), settings, share=True)
        with pytest.raises(InputError, match="free some space"):
            run(TwoStages(FILL, SHOW, shared="k", space_bytes=2**62), settings, share=True)
        assert left(settings) == []
