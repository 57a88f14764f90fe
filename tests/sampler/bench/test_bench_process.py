import math
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sampler.bench import process as bench_process
from sampler.bench.outcome import EndedProcess, Ending
from sampler.bench.process import HELD_BYTES, BenchProcess, Limits
from tests.support.sampler.watching import gone, make_fifo, read_line

Spawn = Callable[..., BenchProcess]
FOREVER = "exec tail -f /dev/null"
HELD = f"echo rest; head -c {HELD_BYTES} /dev/zero; touch went_on; echo end"
_CONTROLLER = """\
import os, signal, sys
from pathlib import Path
from sampler.bench.process import BenchProcess, Limits
folder = Path(sys.argv[1])
BenchProcess(
    ["/bin/sh", "-c", "touch began; exec tail -f /dev/null"], folder=folder, work_in=folder,
    environment=dict(os.environ), limits=Limits(timeout_seconds=60),
)
signal.pause()
"""


@pytest.fixture
def spawn(bench_folder: Path) -> Spawn:
    def start(script: str, *, keep_open: tuple[int, ...] = (), **limits: object) -> BenchProcess:
        return BenchProcess(
            ["/bin/sh", "-c", script],
            folder=bench_folder,
            work_in=bench_folder,
            environment={"PATH": os.environ["PATH"], "GREETING": "hello"},
            limits=Limits(**{"timeout_seconds": 120, "free_bytes": 0, **limits}),
            keep_open=keep_open,
        )

    return start


def end_of(process: BenchProcess) -> EndedProcess:
    ended = process.wait(150)
    assert ended is not None
    return ended


@pytest.mark.parametrize(
    ("script", "status"),
    [("exit 0", 0), ("exit 127", 127), ("kill -KILL $$", -signal.SIGKILL),
     ("ulimit -c 0; kill -SEGV $$", -signal.SIGSEGV)],
)  # fmt: skip
def test_an_exit_is_told_with_its_status_and_a_signal_as_a_negative_one(
    script: str, status: int, spawn: Spawn
):
    ended = end_of(spawn(script))
    assert (ended.ending, ended.status) == (Ending.EXIT, status)


def test_output_goes_to_files_and_input_is_empty(spawn: Spawn, bench_folder: Path):
    end_of(spawn('echo "$GREETING"; echo oops >&2; cat; pwd'))
    assert (bench_folder / "stdout").read_text() == f"hello\n{bench_folder}\n"
    assert (bench_folder / "stderr").read_text() == "oops\n"


@pytest.mark.parametrize(
    ("limits", "ending"),
    [
        ({"cutoff_seconds": 0.1}, Ending.CUTOFF),
        ({"cutoff_seconds": 0.1, "timeout_seconds": 0.1}, Ending.TIMEOUT),
        ({"free_bytes": 2**62}, Ending.DISK_FULL),
    ],
)
def test_a_broken_limit_ends_the_process(limits: dict[str, object], ending: Ending, spawn: Spawn):
    ended = end_of(spawn(FOREVER, **limits))
    assert (ended.ending, ended.status) == (ending, -signal.SIGKILL)


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_flood_on_either_stream_ends_the_process(stream: str, spawn: Spawn):
    ended = end_of(spawn(f"yes >&{stream}", output_bytes=10_000))
    assert ended.ending is Ending.FLOOD


def test_a_process_whose_output_is_held_goes_on_when_it_is_at_rest(
    spawn: Spawn, bench_folder: Path
):
    asked: list[bool] = []

    def settled() -> bool:
        asked.append((bench_folder / "went_on").exists())
        return len(asked) > 3

    ended = end_of(spawn(HELD, held_from="rest", settled=settled))
    assert (ended.ending, ended.status) == (Ending.EXIT, 0) and ended.rested_at is not None
    assert len(asked) > 3 and not any(asked)
    printed = (bench_folder / "stdout").read_bytes()
    assert printed == b"rest\n" + bytes(HELD_BYTES) + b"end\n"


def test_what_is_held_breaks_its_limits_until_it_is_at_rest(
    spawn: Spawn, bench_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bench_process, "UNTOLD_REST_SECONDS", math.inf)
    ended = end_of(spawn(HELD, held_from="rest", timeout_seconds=0.5))
    assert (ended.ending, ended.rested_at) == (Ending.TIMEOUT, None)
    assert not (bench_folder / "went_on").exists()


def test_a_process_that_prints_too_little_to_be_held_was_never_at_rest(spawn: Spawn):
    ended = end_of(spawn("echo rest", held_from="rest", settled=lambda: True))
    assert (ended.ending, ended.rested_at) == (Ending.EXIT, None)


_BUSY = """\
import threading, time, pathlib
def work():
    end = time.thread_time() + 1.0
    while time.thread_time() < end: time.sleep({pause})
    pathlib.Path("worked").touch()
thread = threading.Thread(target=work)
thread.start()
print("rest" + " " * {length}, flush=True)
print(pathlib.Path("worked").exists())
"""


@pytest.mark.slow
@pytest.mark.parametrize("told", [True, False], ids=["done", "not done"])
@pytest.mark.parametrize("pause", [0, 0.0001], ids=["runs", "sleeps and wakes"])
def test_a_process_is_not_at_rest_while_a_thread_of_it_works(
    pause: float, told: bool, spawn: Spawn, bench_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bench_process, "RESTLESS_SECONDS", math.inf)
    (bench_folder / "busy.py").write_text(_BUSY.format(pause=pause, length=HELD_BYTES))
    end_of(spawn("exec python3 busy.py", held_from="rest", settled=lambda: told))
    assert (bench_folder / "stdout").read_text().split() == ["rest", "True"]


def test_of_a_process_that_never_sleeps_its_own_account_is_enough(
    spawn: Spawn, bench_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bench_process, "REST_SECONDS", math.inf)
    ended = end_of(spawn(HELD, held_from="rest", settled=lambda: True))
    assert ended.rested_at is not None and (bench_folder / "went_on").exists()


def test_a_process_within_its_limits_goes_on(spawn: Spawn):
    process = spawn(FOREVER, cutoff_seconds=20, output_bytes=10, settled=lambda: False)
    assert process.wait(0) is None
    assert process.wait(0.3) is None
    assert process.cancel().ending is Ending.CANCELLED


def test_a_cancelled_process_stays_ended_as_it_was(spawn: Spawn):
    process = spawn(FOREVER)
    first = process.cancel()
    assert first.ending is Ending.CANCELLED
    assert process.cancel() == process.wait(5) == first


def test_cancelling_after_the_end_changes_nothing(spawn: Spawn):
    process = spawn("exit 4")
    ended = end_of(process)
    assert process.cancel() == ended and ended.ending is Ending.EXIT


def test_a_ctrl_c_that_swallows_the_exit_status_leaves_a_process_that_can_be_ended(
    spawn: Spawn, monkeypatch: pytest.MonkeyPatch
):
    killed: list[int] = []
    wait4 = os.wait4

    def interrupted(pid: int, options: int) -> tuple[int, int, object]:
        wait4(pid, options)
        monkeypatch.setattr(os, "wait4", wait4)
        monkeypatch.setattr(os, "killpg", lambda group, _: killed.append(group))
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "wait4", interrupted)
    process = spawn("exit 0")
    with pytest.raises(KeyboardInterrupt):
        end_of(process)
    assert process.cancel().ending is Ending.CANCELLED
    assert killed == [], "its number may be another's by now"


@pytest.mark.parametrize("parent", ["wait", "exit 0"], ids=["killed", "ended by itself"])
def test_children_die_with_the_command(parent: str, spawn: Spawn, bench_folder: Path):
    pipe = make_fifo(bench_folder / "pipe")
    process = spawn(f"tail -f /dev/null & echo $! >pipe; {parent}", timeout_seconds=30)
    child = int(read_line(pipe))
    end_of(process) if parent != "wait" else process.cancel()
    assert gone(child)
    os.close(pipe)


def test_no_command_begins_for_a_controller_that_died_while_it_was_being_started(
    bench_folder: Path, tmp_path: Path
):
    gate, told = make_fifo(tmp_path / "gate"), make_fifo(tmp_path / "told")
    slow = tmp_path / "setpriv"  # asks the kernel for a signal only when the gate opens
    slow.write_text(
        f"#!/bin/sh\necho $$ > {tmp_path}/told\nread _ < {tmp_path}/gate\n"
        f'exec {shutil.which("setpriv")} "$@"\n'
    )
    slow.chmod(0o755)
    controller = subprocess.Popen(
        [sys.executable, "-c", _CONTROLLER, str(bench_folder)],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    try:
        started = int(read_line(told))
    finally:
        controller.kill()
        controller.wait()
    os.write(gate, b"\n")
    assert gone(started)
    assert not (bench_folder / "began").exists()


def test_descriptors_to_keep_open_are_inherited_and_no_others(spawn: Spawn):
    reading, writing = os.pipe()
    other_reading, other_writing = os.pipe()
    end_of(spawn(f"echo inherited >/proc/self/fd/{writing}", keep_open=(writing,)))
    assert read_line(reading) == "inherited"
    end_of(spawn(f"echo leaked >/proc/self/fd/{other_writing}"))
    os.close(other_writing)
    assert read_line(other_reading) == ""
    for descriptor in (reading, writing, other_reading):
        os.close(descriptor)


def test_no_descriptor_is_left_behind(spawn: Spawn):
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for script in ("exit 0", FOREVER, HELD):
        spawn(script).cancel()
        spawn(script, held_from="rest").cancel()
    assert set(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


@pytest.mark.slow
def test_cpu_seconds_and_peak_memory_are_the_command_s_own(spawn: Spawn):
    pages = "import time; kept = bytearray(50_000_000); "
    busy = "end = time.process_time() + 0.6\nwhile time.process_time() < end: pass"
    ended = end_of(spawn(f"exec python3 -c '{pages}{busy}'"))
    assert 0.5 < ended.cpu_seconds < 5
    assert 50_000_000 < ended.peak_rss < 150_000_000


def test_bytes_written_to_the_device_are_counted(spawn: Spawn):
    script = "dd if=/dev/zero of=here bs=1M count=8 conv=fsync 2>/dev/null"
    ended = end_of(spawn(script))
    assert ended.status == 0
    assert 8 * 2**20 <= ended.device_bytes < 16 * 2**20


def test_a_folder_that_is_not_there_is_an_os_error(tmp_path: Path):
    with pytest.raises(OSError):
        BenchProcess(
            ["true"],
            folder=tmp_path / "nowhere",
            work_in=tmp_path,
            environment={},
            limits=Limits(timeout_seconds=1),
        )
