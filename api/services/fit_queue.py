"""The queue of viewers whose answer needs models fitted first.

Each waits without a thread of the pool, so that log-ins, submissions and health are answered
meanwhile; beyond a bound nobody waits; and who has gone away makes room.
"""

from collections.abc import Callable
from typing import TypeVar

from anyio import CancelScope, CapacityLimiter, create_task_group, to_thread
from fastapi import Request

from api.http.problems import ProblemError
from jobs.results.fits import ToBeFitted, without_fitting

MOST_WAITING = 32
_AGAIN_SECONDS = 10
T = TypeVar("T")


class FitQueue:
    """One of a service: those who wait, and the one thread that waits for a fit."""

    def __init__(self) -> None:
        self.waiting = 0  # the one whose turn it is among them
        self._turn = CapacityLimiter(1)

    async def answer(self, request: Request, make: Callable[[], T]) -> T:
        """What ``make`` returns: at once where it fits nothing, else when it is its turn.

        It is called once more in the second case, so it changes nothing.

        Raises:
            ProblemError: 503, too many wait, or the client has gone.
            Exception: Whatever ``make`` raised.
        """
        try:
            return await to_thread.run_sync(without_fitting()(make))
        except ToBeFitted:
            pass
        if self.waiting >= MOST_WAITING:
            raise _busy(f"{self.waiting} requests are waiting for models; try again")
        self.waiting += 1
        try:
            return await self._in_turn(request, make)
        finally:
            self.waiting -= 1

    async def _in_turn(self, request: Request, make: Callable[[], T]) -> T:
        made: list[T] = []
        failed: list[Exception] = []
        async with create_task_group() as group:
            group.start_soon(_leave_when_gone, request, group.cancel_scope)
            try:
                made.append(await to_thread.run_sync(make, limiter=self._turn))
            except Exception as error:  # bare, not in a group of its own
                failed.append(error)
            group.cancel_scope.cancel()
        if failed:
            raise failed[0]
        if not made:
            raise _busy("the client has disconnected")
        return made[0]


async def _leave_when_gone(request: Request, scope: CancelScope) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass  # what is left of the body
    scope.cancel()


def _busy(why: str) -> ProblemError:
    return ProblemError(503, why, headers={"Retry-After": str(_AGAIN_SECONDS)})
