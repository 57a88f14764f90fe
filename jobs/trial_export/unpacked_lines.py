"""The lines of a gzip file that somebody else may have made: never more of them than fits here."""

from __future__ import annotations

import gzip
import io
from collections.abc import Generator
from pathlib import Path

from sampler.common.errors import InputError

# The longest line that a job can come to: what a request of 4 MiB sent, each character of two
# bytes written out in six.
MOST_LINE_BYTES = 16 * 2**20
# Recorded trials pack to a sixth and less, failures that each repeat one character 10,000 times to
# a hundredth or so; a bomb to a thousandth. What is small when it is unpacked is no bomb.
MOST_TIMES = 200
_HARMLESS_BYTES = 64 * 2**20


class _Counted(io.FileIO):
    """A file that knows how much of it was read, a pipe too."""

    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size) or b""
        self.taken += len(data)
        return data


def unpacked_lines(path: Path, *, field: str) -> Generator[str, None, None]:
    """The lines of a packed text, each as soon as it is unpacked.

    Args:
        path: The gzip file.
        field: What is said to be wrong.

    Raises:
        InputError: A line is longer than 16 MiB, or the file unpacks to more than 200 times its
            size and 64 MiB.
        OSError: It cannot be read, or is not packed with gzip.
        ValueError: A line is no UTF-8.
        EOFError: It ends too early.
        zlib.error: What is packed is damaged.
    """
    total = 0
    with _Counted(path) as packed, gzip.GzipFile(fileobj=packed, mode="rb") as file:
        while line := file.readline(MOST_LINE_BYTES + 1):
            total += len(line)
            if len(line) > MOST_LINE_BYTES:
                problem = f"{str(path)!r} has a line of more than {MOST_LINE_BYTES} bytes"
                raise InputError(field, f"{problem}, longer than any job's; it is no archive")
            if total > max(_HARMLESS_BYTES, MOST_TIMES * packed.taken):
                problem = f"{str(path)!r} unpacks to more than {MOST_TIMES} times its size"
                raise InputError(field, f"{problem}, as no trials do; it is no archive")
            yield line.decode("utf-8")
