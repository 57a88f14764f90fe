from pathlib import Path

import pytest

from sampler.machine.machine import thread_runs


def write(proc: Path, thread: int, state: str, *switches: int, pid: int = 7) -> None:
    folder = proc / str(pid) / "task" / str(thread)
    folder.mkdir(parents=True, exist_ok=True)
    names = ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")
    lines = [f"{name}:\t{count}" for name, count in zip(names, switches, strict=False)]
    (folder / "status").write_text("\n".join(["Name:\tdb_bench", f"State:\t{state}", *lines]))


def test_threads_that_sleep_are_told_by_how_often_they_ran(tmp_path: Path):
    write(tmp_path, 7, "S (sleeping)", 3, 1)
    write(tmp_path, 8, "S (sleeping)", 4, 0)
    before = thread_runs(7, tmp_path)
    assert before is not None and before == thread_runs(7, tmp_path)
    write(tmp_path, 8, "S (sleeping)", 5, 0)
    assert thread_runs(7, tmp_path) != before


def test_another_thread_is_another_look(tmp_path: Path):
    write(tmp_path, 7, "S (sleeping)", 3, 1)
    before = thread_runs(7, tmp_path)
    write(tmp_path, 9, "S (sleeping)", 0, 0)
    assert thread_runs(7, tmp_path) not in (before, None)


def test_a_process_that_a_script_started_is_the_script_s(tmp_path: Path):
    write(tmp_path, 7, "S (sleeping)", 3, 1)
    (tmp_path / "7/task/7/children").write_text("12 \n")
    assert thread_runs(7, tmp_path) is None  # it ended between two looks
    write(tmp_path, 13, "S (sleeping)", 5, 1, pid=12)
    before = thread_runs(7, tmp_path)
    write(tmp_path, 13, "S (sleeping)", 6, 1, pid=12)
    assert before is not None and thread_runs(7, tmp_path) not in (before, None)
    write(tmp_path, 13, "R (running)", 6, 1, pid=12)
    assert thread_runs(7, tmp_path) is None


@pytest.mark.parametrize("state", ["R (running)", "D (disk sleep)", "T (stopped)"])
def test_one_that_does_not_sleep_is_enough(state: str, tmp_path: Path):
    write(tmp_path, 7, "S (sleeping)", 3, 1)
    write(tmp_path, 8, state, 3, 1)
    assert thread_runs(7, tmp_path) is None


def test_what_the_kernel_does_not_tell_is_not_made_up(tmp_path: Path):
    assert thread_runs(7, tmp_path) is None
    write(tmp_path, 7, "S (sleeping)")
    assert thread_runs(7, tmp_path) is None
