"""Small matrices are solved on one thread: nothing is gained by sharing them out."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]


def one_thread() -> Any:
    """A context in which linear algebra takes one thread, for the whole process.

    Alone on two cores it makes no difference; beside other work threads wait for each other.
    """
    return _libraries().limit(limits=1, user_api="blas")


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    """Those that NumPy and SciPy have loaded; to look for them takes some milliseconds."""
    import scipy.linalg  # noqa: F401  # so that its library is there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
