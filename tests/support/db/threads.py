"""Calls that begin at the same moment."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def at_once(call: Callable[[T], R], given: Iterable[T]) -> list[R | Exception]:
    """What each call returns or raises, every one from a thread of its own."""
    each = list(given)
    ready = Barrier(len(each))

    def one(item: T) -> R | Exception:
        ready.wait()
        try:
            return call(item)
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(each)) as threads:
        return list(threads.map(one, each))
