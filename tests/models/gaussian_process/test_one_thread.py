"""The limit of one thread for linear algebra, where several threads of a service take it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Event, Thread

import scipy.linalg  # noqa: F401  # so that its library is there to be limited
from threadpoolctl import ThreadpoolController, threadpool_limits

from models.gaussian_process.process import one_thread


def blas_threads() -> set[int]:
    libraries = ThreadpoolController().select(user_api="blas")
    assert len(libraries) > 0
    return {each["num_threads"] for each in libraries.info()}


@contextmanager
def two_threads() -> Iterator[None]:
    """Linear algebra takes two threads, whoever has set it to what before."""
    libraries = ThreadpoolController().select(user_api="blas")
    for library in libraries.lib_controllers:
        library.clear_controlling_thread(force=True)
    with libraries.limit(limits=2):
        assert blas_threads() == {2}
        yield


@contextmanager
def a_thread_that_has_set_a_limit_and_lives_on(limit: int) -> Iterator[None]:
    has_set, may_end = Event(), Event()

    def live_on() -> None:
        threadpool_limits(limits=limit, user_api="blas")
        has_set.set()
        may_end.wait()

    thread = Thread(target=live_on)
    thread.start()
    has_set.wait()
    try:
        yield
    finally:
        may_end.set()
        thread.join()


def test_it_holds_though_another_thread_has_set_a_limit_before():
    with two_threads():
        pass
    with a_thread_that_has_set_a_limit_and_lives_on(2):
        assert blas_threads() == {2}
        with one_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {2}
        threadpool_limits(limits=1, user_api="blas")
        assert blas_threads() == {1}


def test_whoever_leaves_first_does_not_lift_the_limit_of_another():
    with two_threads():
        first, second = ExitStack(), ExitStack()
        first.enter_context(one_thread())
        second.enter_context(one_thread())
        first.close()
        assert blas_threads() == {1}
        second.close()
        assert blas_threads() == {2}


def test_threads_count_together():
    with two_threads():
        mine, others = ExitStack(), ExitStack()
        mine.enter_context(one_thread())
        for step in (lambda: others.enter_context(one_thread()), others.close):
            thread = Thread(target=step)
            thread.start()
            thread.join()
            assert blas_threads() == {1}
        mine.close()
        assert blas_threads() == {2}


def test_an_error_within_ends_the_limit():
    with two_threads():
        try:
            with one_thread():
                raise ArithmeticError
        except ArithmeticError:
            pass
        assert blas_threads() == {2}
