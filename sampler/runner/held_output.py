"""Standard output that can be held back: the process sleeps until it is let go on.

It prints into a pipe of one page, and what comes out is handed to a file. From certain words on
nothing is taken out: the pipe is full soon, and the kernel lets the process sleep in the middle of
its printing. Nothing else of it is touched: its other threads go on with their work.
"""

import contextlib
import fcntl
import os
import resource
from pathlib import Path
from threading import Event, Thread
from typing import Final

# Besides the pipe the C library's buffer, and the piece in which the words stood, are filled
# before the process sleeps. Each is of one page.
HELD_BYTES: Final = 4 * resource.getpagesize()
_PATIENCE_SECONDS = 1.0


class HeldOutput:
    """One process's standard output, handed on by a thread."""

    def __init__(self, file: Path, held_from: str) -> None:
        """Begins to hand on what is written to ``writing``.

        Args:
            file: Receives all of it.
            held_from: The words from which on it is held back, if at least ``HELD_BYTES`` follow.

        Raises:
            OSError: The file cannot be written.
        """
        self._file, self._held_from = file.open("wb", buffering=0), held_from.encode()
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
