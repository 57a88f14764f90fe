"""A benchmark's process: its own group, limits on time, disk and output, and a certain end.

Its standard output can be held back: it prints into a pipe of one page, and what comes out is
handed to a file. From certain words on nothing is taken out: the pipe is full soon, and the kernel
lets the process sleep in the middle of its printing. Nothing else of it is touched: its other
threads go on with their work.
"""

import contextlib
import fcntl
import math
import os
import resource
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Final

from sampler.bench.outcome import EndedProcess, Ending
from sampler.common.atomic_write import PRIVATE_UMASK, private_writer
from sampler.machine.machine import PROC, field_of, thread_runs

# A limit is looked at this often, more often when it may be at rest; an exit is noticed at once.
_LOOK_SECONDS = 0.25
_NEAR_LOOK_SECONDS = 0.05
# A process is at rest when none of its threads has run for so long: less where it says itself that
# its work is done. Of a program whose threads never sleep, such as Java, its word for so long is
# enough.
REST_SECONDS = 0.25
UNTOLD_REST_SECONDS = 0.5
RESTLESS_SECONDS = 1.0
# With less left next to nothing can be written any more, whatever the limit allows.
_FULL_BYTES = 64 * 2**10
# The kernel tells only of a death that comes after it was asked to: who was killed before is found
# by who the parent is now.
_UNLESS_ORPHANED = ("/bin/sh", "-c", '[ "$PPID" -eq "$0" ] && exec "$@"')
# Besides the pipe the C library's buffer, and the piece in which the words stood, are filled
# before the process sleeps. Each is of one page.
HELD_BYTES: Final = 4 * resource.getpagesize()
_PATIENCE_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a process may use."""

    timeout_seconds: float  # it is ended after this
    # The same, but sooner: it is too slow to be worth waiting for.
    cutoff_seconds: float | None = None
    # Its output is held back from these words on, until it is at rest: until nothing runs in it,
    # sooner where ``settled``, asked now and then, says that its work is done.
    held_from: str | None = None
    settled: Callable[[], bool] = lambda: False
    # It is ended when its folder's disk has less than this left, or next to nothing.
    free_bytes: int = 64 * 2**20
    output_bytes: int = 64 * 2**20  # it is ended when it has printed more than this


def tied(*argv: str) -> list[str]:
    """The command, which the kernel kills when the thread dies that starts it.

    Where there is no setpriv, the command as it is.
    """
    before = ("setpriv", "--pdeathsig", "KILL", "--", *_UNLESS_ORPHANED, str(os.getpid()))
    return [*(before if shutil.which("setpriv") else ()), *argv]


class BenchProcess:
    """One running benchmark. Not for several threads at once.

    The kernel ends the process when the thread that started it dies (setpriv --pdeathsig), so a
    killed controller leaves nothing behind; keep that thread alive as long as the trial.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        folder: Path,
        work_in: Path,
        environment: Mapping[str, str],
        limits: Limits,
        keep_open: Sequence[int] = (),
    ) -> None:
        """Starts it in ``work_in``, its ``stdout`` and ``stderr`` going to files in ``folder``.

        Raises:
            OSError: It cannot be started.
        """
        self._folder, self._limits = folder, limits
        self._outputs = (folder / "stdout", folder / "stderr")
        self._began, self._began_clock = _clocks()
        held_from = limits.held_from
        self._held = HeldOutput(self._outputs[0], held_from) if held_from else None
        stdout = self._held.writing if self._held else private_writer(self._outputs[0])
        with stdout as out, private_writer(self._outputs[1]) as err:
            self._process = subprocess.Popen(
                tied(*argv),
                cwd=work_in,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                umask=PRIVATE_UMASK,
                pass_fds=tuple(keep_open),
            )
        self._pidfd = os.pidfd_open(self._process.pid)
        self._ending = Ending.EXIT
        self._ended: EndedProcess | None = None
        self._reaping = False
        self._peak_rss = 0
        self._rest = _Rest(self._process.pid)
        self._rested_at: float | None = None

    def wait(self, timeout: float) -> EndedProcess | None:
        """Waits for the end, at most ``timeout`` s; ends the process when it breaks a limit."""
        until = time.monotonic() + timeout
        while self._ended is None:
            left = until - time.monotonic()
            held = self._held and self._held.holds
            look = _NEAR_LOOK_SECONDS if self._rest.is_near else _LOOK_SECONDS
            if self._exits_within(min(max(left, 0.0), look)):
                self._reap()
                break
            self._peak_rss = max(self._peak_rss, _peak_rss(self._process.pid))
            if self._held and held and self._rest.is_reached(settled=self._limits.settled()):
                self._rested_at = time.time()
                self._held.release()
            if broken := self._broken_limit():
                self._end(broken)
            elif left <= 0:
                return None
        return self._ended

    def cancel(self) -> EndedProcess:
        """Ends the process now, if it has not ended."""
        if self._ended is None:
            self._end(Ending.CANCELLED)
        assert self._ended is not None
        return self._ended

    def _exits_within(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def _broken_limit(self) -> Ending | None:
        elapsed = time.monotonic() - self._began
        limits = self._limits
        if elapsed >= limits.timeout_seconds:
            return Ending.TIMEOUT
        if limits.cutoff_seconds is not None and elapsed >= limits.cutoff_seconds:
            return Ending.CUTOFF
        if shutil.disk_usage(self._folder).free < max(limits.free_bytes, _FULL_BYTES):
            return Ending.DISK_FULL
        if sum(path.stat().st_size for path in self._outputs) > limits.output_bytes:
            return Ending.FLOOD
        return None

    def _end(self, why: Ending) -> None:
        self._ending = why
        if not self._reaping:
            self._kill_group()
            self._exits_within(3600)
        self._reap()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _reap(self) -> None:
        # Its children go first, while the unreaped leader keeps the group's number from reuse.
        if not self._reaping:
            self._kill_group()
        self._reaping = True
        now, clock = _clocks()
        wall = now - self._began
        status, cpu_seconds, written, read = _resources_used(self._process.pid)
        if self._held:
            self._held.close()
        self._process.returncode = status
        self._ended = EndedProcess(
            ending=self._ending_of(status),
            status=status,
            began=self._began_clock,
            wall_seconds=wall,
            cpu_seconds=cpu_seconds,
            peak_rss=self._peak_rss,
            device_bytes=written,
            device_read_bytes=read,
            processors=len(os.sched_getaffinity(0)),
            clock_set_by=clock - self._began_clock - wall,
            rested_at=self._rested_at,
        )
        os.close(self._pidfd)

    def _ending_of(self, status: int) -> Ending:
        """How it ended; one that failed on a full disk may not even have been able to say so."""
        if self._ending is Ending.EXIT and status != 0:
            with contextlib.suppress(OSError):
                if shutil.disk_usage(self._folder).free < _FULL_BYTES:
                    return Ending.DISK_FULL
        return self._ending


class _Rest:
    """How long a process has been at rest, as seen by who looks often enough."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._runs: object = None  # as of the last look
        self._quiet_since = self._settled_since = math.inf

    @property
    def is_near(self) -> bool:
        """Whether nothing ran at the last look."""
        return self._runs is not None

    def is_reached(self, *, settled: bool) -> bool:
        """Whether it is at rest now, ``settled`` or not by its own account."""
        now, runs = time.monotonic(), thread_runs(self._pid)
        if runs is None or runs != self._runs:
            self._runs, self._quiet_since = runs, now
        self._settled_since = min(self._settled_since, now) if settled else math.inf
        enough = REST_SECONDS if settled else UNTOLD_REST_SECONDS
        return now - self._quiet_since >= enough or now - self._settled_since >= RESTLESS_SECONDS


def _clocks() -> tuple[float, float]:
    """Seconds by the clock that nobody can set, and by the one on the wall."""
    return time.monotonic(), time.time()


def _resources_used(pid: int) -> tuple[int, float, int, int]:
    """The exit status of a child that has ended, its CPU seconds, bytes to and from a device.

    The kernel answers once. Where a signal's exception (someone pressed Ctrl-C) came before the
    answer was kept, only that it is gone is known: it was killed, as far as anyone can tell.
    """
    try:
        _, status, used = os.wait4(pid, 0)
    except ChildProcessError:
        return -signal.SIGKILL, 0.0, 0, 0
    written, read = used.ru_oublock * 512, used.ru_inblock * 512
    return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, written, read


def _peak_rss(pid: int) -> int:
    """The most memory that a process has had since it became its program, in bytes.

    The kernel's rusage cannot be used: it remembers the size of the controller that forked it.
    """
    kib = field_of(PROC / str(pid) / "status", "VmHWM")  # such as ``5120 kB``
    return int(kib.split()[0]) * 1024 if kib else 0


class HeldOutput:
    """One process's standard output, handed on by a thread."""

    def __init__(self, file: Path, held_from: str) -> None:
        """Begins to hand on what is written to ``writing``: to the file.

        From the words ``held_from`` on it is held back, if at least ``HELD_BYTES`` follow.

        Raises:
            OSError: The file cannot be written.
        """
        self._file = private_writer(file, 0)
        self._held_from = held_from.encode()
        reading, writing = os.pipe()
        fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, resource.getpagesize())
        self._pipe, self.writing = os.fdopen(reading, "rb", 0), os.fdopen(writing, "wb", 0)
        self._held, self._released = Event(), Event()
        self._thread = Thread(target=self._hand_on, name="held output", daemon=True)
        self._thread.start()

    @property
    def holds(self) -> bool:
        """Whether it is held back now."""
        return self._held.is_set() and not self._released.is_set()

    def release(self) -> None:
        """Lets it go on, for good."""
        self._released.set()

    def close(self) -> None:
        """Waits until all is in the file, when nobody has ``writing`` open any more.

        What left the process's group may still have it: it is not waited for.
        """
        self._released.set()
        self._thread.join(_PATIENCE_SECONDS)

    def _hand_on(self) -> None:
        last = b""
        with self._pipe, self._file:
            while piece := self._pipe.read(resource.getpagesize()):
                with contextlib.suppress(OSError):  # a full disk ends the process, sooner or later
                    self._file.write(piece)
                last += piece
                if not self._held.is_set() and self._held_from in last:
                    self._held.set()
                    self._released.wait()
                last = last[-len(self._held_from) :]
