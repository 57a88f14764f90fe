"""Libraries kept to one thread: small matrices only lose by sharing, and seconds are compared."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]


@contextmanager
def one_thread() -> Iterator[None]:
    """Holds for what is loaded, and for what a strategy loads later (PyTorch, say)."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with threadpool_limits(1):
        yield
