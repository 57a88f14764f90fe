"""The limit of one thread for linear algebra, where several threads of a service take it."""

from contextlib import ExitStack
from threading import Thread

import scipy.linalg  # noqa: F401  # so that its library is there to be limited
from threadpoolctl import ThreadpoolController

from models.gaussian_process.process import one_thread


def blas_threads() -> set[int]:
    libraries = ThreadpoolController().select(user_api="blas")
    assert len(libraries) > 0
    return {each["num_threads"] for each in libraries.info()}


def test_whoever_leaves_first_does_not_lift_the_limit_of_another():
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        assert blas_threads() == {2}
        first, second = ExitStack(), ExitStack()
        first.enter_context(one_thread())
        second.enter_context(one_thread())
        first.close()
        assert blas_threads() == {1}
        second.close()
        assert blas_threads() == {2}


def test_threads_count_together():
    with ThreadpoolController().limit(limits=2, user_api="blas"):
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
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        try:
            with one_thread():
                raise ArithmeticError
        except ArithmeticError:
            pass
        assert blas_threads() == {2}
