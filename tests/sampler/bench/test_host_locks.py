import contextlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sampler.bench.host_lock import MARK, default_lock_path, host_lock
from sampler.common.errors import InputError
from sampler.machine.machine import (
    SeenProcesses,
    is_alive,
    kill_marked,
    own_process,
    seen_processes,
    start_time,
)
from tests.support import ROOT
from tests.support.sampler.watching import gone, read_line

HOLDER = ROOT / "tests/support/sampler/holding_the_lock.py"
Hold = Callable[..., tuple["subprocess.Popen[bytes]", str]]


class GaveUp(Exception):
    pass


def give_up(_: float) -> None:
    raise GaveUp


def waits_behind(lock: Path) -> list[str]:
    """Tries to take a lock that is held: whom it waits for."""
    told: list[str] = []
    with pytest.raises(GaveUp), host_lock(lock, "mine", waiting=told.append, pause=give_up):
        pass
    return told


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "host.lock"


def signature_of(lock: Path) -> Path:
    return lock.with_name(f"{lock.name}.{os.geteuid()}")


@pytest.fixture
def hold(lock: Path) -> Iterator[Hold]:
    """Lets another process hold the lock; gives it and the line that it said."""
    started: list[subprocess.Popen[bytes]] = []

    def start(token: str, *rest: str) -> tuple["subprocess.Popen[bytes]", str]:
        argv = [sys.executable, str(HOLDER), str(lock), token, *rest]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout is not None
        return process, read_line(process.stdout.fileno())

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_a_free_lock_is_taken_and_signed(lock: Path):
    with host_lock(lock, "mine", pause=give_up):
        pid, started = own_process()
        assert json.loads(signature_of(lock).read_bytes()) == {
            "pid": pid,
            "started": started,
            "token": "mine",
        }
        assert signature_of(lock).stat().st_mode & 0o777 == 0o600
        assert lock.read_bytes() == b""


def test_a_lock_can_be_taken_again_and_again(lock: Path):
    for token in ("first", "second, a longer one", "third"):
        with host_lock(lock, token, pause=give_up):
            assert json.loads(signature_of(lock).read_bytes())["token"] == token


def test_a_lock_is_held_against_others_in_the_same_process(lock: Path):
    with host_lock(lock, "theirs", pause=give_up):
        assert waits_behind(lock)


def test_a_lock_of_another_process_is_waited_for_until_that_is_killed(lock: Path, hold: Hold):
    holder, said = hold("theirs")
    assert said == "started"
    assert waits_behind(lock) == [f"process {holder.pid}"]
    waits: list[float] = []

    def kill_the_holder(seconds: float) -> None:
        waits.append(seconds)
        holder.kill()
        holder.wait()

    with host_lock(lock, "mine", pause=kill_the_holder):
        assert len(waits) == 1


def test_what_a_dead_controller_left_running_is_ended_and_the_lock_taken(lock: Path, hold: Hold):
    holder, said = hold(secrets.token_hex(8), "orphan")
    orphan = int(said)
    holder.kill()
    holder.wait()
    assert start_time(orphan) is not None
    waits: list[float] = []

    def until_the_orphan_is_gone(seconds: float) -> None:
        waits.append(seconds)
        assert gone(orphan)

    told: list[str] = []
    with host_lock(lock, "mine", waiting=told.append, pause=until_the_orphan_is_gone):
        assert start_time(orphan) is None
    assert (len(waits), told) == (1, [])


def test_what_a_living_controller_runs_is_left_alone(lock: Path, hold: Hold):
    token = secrets.token_hex(8)
    _, said = hold(token, "orphan")
    assert waits_behind(lock)
    assert start_time(int(said)) is not None
    assert kill_marked(MARK, token) == 1
    assert gone(int(said))


@pytest.mark.parametrize(
    "signature", ["", "not json", "[]", "{}", '{"pid": "x"}', '{"pid": 1e999}', '{"pid": null}']
)
def test_a_signature_that_cannot_be_read_is_waited_for_like_any_other(
    signature: str, lock: Path, hold: Hold
):
    hold("theirs")
    signature_of(lock).write_text(signature)
    assert waits_behind(lock)


def test_what_stands_in_the_lock_is_neither_told_nor_believed(lock: Path, hold: Hold):
    token = secrets.token_hex(8)
    holder, said = hold(token, "orphan")
    for pid in ("\x1b[2J", 2**22):
        lock.write_text(json.dumps({"pid": pid, "started": 1, "token": token}))
        assert waits_behind(lock) == [f"process {holder.pid}"]
    assert start_time(int(said)) is not None


@pytest.mark.parametrize("kind", ["open to all", "a link", "a second name", "a pipe"])
def test_a_signature_that_another_may_have_written_is_not_believed(
    kind: str, lock: Path, hold: Hold, tmp_path: Path
):
    token = secrets.token_hex(8)
    _, said = hold(token, "orphan")
    mine, theirs = signature_of(lock), tmp_path / "theirs"
    theirs.write_text(json.dumps({"pid": 2**22, "started": 1, "token": token}))
    mine.unlink()
    if kind == "open to all":
        theirs.rename(mine)
        mine.chmod(0o666)
    elif kind == "a link":
        mine.symlink_to(theirs)
    elif kind == "a second name":
        mine.hardlink_to(theirs)
    else:
        os.mkfifo(mine, 0o600)
    assert waits_behind(lock)
    assert start_time(int(said)) is not None
    assert kill_marked(MARK, token) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
def test_two_users_lock_each_other_out():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o1777)
        lock = Path(folder) / "lock"
        with host_lock(lock, "mine", pause=give_up):
            taken = subprocess.run(["flock", "-n", str(lock), "true"], user=65534, check=False)
            assert taken.returncode == 1
            assert subprocess.run(["test", "-w", str(lock)], user=65534).returncode == 1
        theirs = subprocess.Popen(
            ["flock", "--no-fork", str(lock), "sh", "-c", "echo held; kill -STOP $$"],
            user=65534,
            stdout=subprocess.PIPE,
        )
        try:
            assert theirs.stdout is not None and read_line(theirs.stdout.fileno()) == "held"
            assert waits_behind(lock) == [f"process {theirs.pid}"]
        finally:
            theirs.kill()
            theirs.communicate()


@pytest.mark.parametrize("when", ["held", "waited for"])
def test_a_lock_whose_file_is_removed_is_held_all_the_same(when: str, lock: Path):
    def remove_and_give_up(_: float) -> None:
        lock.unlink()
        raise GaveUp

    with host_lock(lock, "mine", pause=give_up):
        if when == "held":
            lock.unlink()
        else:
            with pytest.raises(GaveUp), host_lock(lock, "theirs", pause=remove_and_give_up):
                pass
        assert waits_behind(lock), "the file is there again, and free"
        assert waits_behind(lock)
    with host_lock(lock, "theirs", pause=give_up):
        assert lock.exists()


def test_a_lock_that_was_waited_for_is_that_of_the_file_there_is_now(lock: Path):
    with contextlib.ExitStack() as first:
        first.enter_context(host_lock(lock, "first", pause=give_up))

        def replace_and_end(_: float) -> None:
            lock.unlink()
            lock.touch()
            first.close()

        with host_lock(lock, "mine", pause=replace_and_end) as descriptor:
            assert os.path.samestat(os.fstat(descriptor), lock.stat())
            assert waits_behind(lock)


def test_who_has_just_had_the_lock_waits_behind_who_waits_already(lock: Path):
    """Without a queue a controller with trial after trial keeps all others out."""
    waits, go_on = threading.Event(), threading.Event()
    order: list[str] = []

    def pause(_: float) -> None:
        waits.set()
        assert go_on.wait(30)

    def other() -> None:
        with host_lock(lock, "other", pause=pause):
            order.append("other")

    thread = threading.Thread(target=other)
    with host_lock(lock, "mine", pause=give_up):
        order.append("mine")
        thread.start()
        assert waits.wait(30)
    assert waits_behind(lock)
    go_on.set()
    thread.join()
    with host_lock(lock, "mine again", pause=give_up):
        order.append("mine again")
    assert order == ["mine", "other", "mine again"]


def test_a_lock_that_cannot_be_made_names_its_variable(tmp_path: Path):
    with (
        pytest.raises(InputError, match="ROCKTUNE_LOCK: cannot open the host's lock"),
        host_lock(tmp_path / "nowhere" / "lock", "mine", pause=give_up),
    ):
        pass


def test_a_lock_that_is_a_link_is_refused_and_what_it_leads_to_left_alone(tmp_path: Path):
    theirs, link = tmp_path / "theirs", tmp_path / "lock"
    theirs.write_text("of somebody else")
    link.symlink_to(theirs)
    with (
        pytest.raises(InputError, match=r"ROCKTUNE_LOCK: the host's lock .* is a symbolic link"),
        host_lock(link, "mine", pause=give_up),
    ):
        pass
    assert theirs.read_text() == "of somebody else"


def test_all_users_of_a_host_share_one_lock(lock: Path):
    assert default_lock_path().is_absolute()
    with host_lock(lock, "mine", pause=give_up):
        assert lock.stat().st_mode & 0o777 == 0o644


def test_a_process_is_told_from_a_later_one_with_its_number():
    pid, started = own_process()
    assert is_alive(pid, started)
    assert not is_alive(pid, started + 1)


def test_a_zombie_counts_as_gone():
    child = subprocess.Popen(["true"])
    assert gone(child.pid)
    assert start_time(child.pid) is None
    child.wait()


@pytest.fixture
def stopped() -> Iterator[Callable[[str], "subprocess.Popen[bytes]"]]:
    """Starts processes that have a mark, and stop."""
    started: list[subprocess.Popen[bytes]] = []

    def start(mark: str) -> "subprocess.Popen[bytes]":
        script = ["/bin/sh", "-c", "echo ready; kill -STOP $$"]
        child = subprocess.Popen(script, env={MARK: mark}, stdout=subprocess.PIPE)
        started.append(child)
        assert child.stdout is not None and read_line(child.stdout.fileno()) == "ready"
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()


def test_only_processes_with_the_very_mark_are_ended(stopped):
    token = secrets.token_hex(8)
    mine, other = stopped(token), stopped(token + "-2")
    assert kill_marked(MARK, token) == 1
    assert gone(mine.pid) and start_time(other.pid) is not None


def test_who_was_there_before_is_left_alone_and_who_came_since_is_ended(stopped):
    token = secrets.token_hex(8)
    earlier, before = stopped(token), seen_processes()
    later = stopped(token)
    assert kill_marked(MARK, token, before) == 1
    assert gone(later.pid) and start_time(earlier.pid) is not None


def test_only_processes_started_since_are_looked_at_until_numbers_may_come_again(tmp_path: Path):
    (tmp_path / "sys/kernel").mkdir(parents=True)
    (tmp_path / "sys/kernel/pid_max").write_text("1000\n")
    before = SeenProcesses(frozenset({5, 900}), 100)
    assert SeenProcesses(frozenset({5, 6}), 500).since(before, tmp_path) == {6}
    assert SeenProcesses(frozenset({5, 6}), 600).since(before, tmp_path) == {5, 6}
    assert SeenProcesses(frozenset({5, 6}), None).since(before, tmp_path) == {5, 6}
