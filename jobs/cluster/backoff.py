"""Hosts that are left alone for a while: they cannot measure just now, or keep going away."""

import time
from collections import Counter
from collections.abc import Callable

_REST_SECONDS = 30.0  # a host that cannot measure is asked again after so long
# One that goes away in the middle of a trial is used again when it is back, for hosts are started
# anew. One that goes again and again would lose trials as fast as it is given them, while all
# others are busy with theirs, until one of them counts as lost for good.
_GONE_OFTEN = 3
_MOST_DOUBLINGS = 6  # of its rest: half an hour


class Backoff:
    """Who rests, and how often each has gone since it last measured anything. Of one thread."""

    def __init__(
        self, told: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begins with nobody resting; ``told`` hears who is left alone, for how long and why."""
        self._told, self._clock = told, clock
        self._until: dict[str, float] = {}
        self._gone: Counter[str] = Counter()

    def rests(self, host: str) -> bool:
        """Whether a host is to be left alone now."""
        return self._until.get(host, 0.0) > self._clock()

    def rest(self, host: str, why: str) -> None:
        """Leaves a host alone that is there and cannot measure."""
        self._leave_alone(host, _REST_SECONDS, why)

    def went_away(self, host: str) -> None:
        """A host has gone, and a trial with it: often in a row, and it rests, longer each time."""
        self._gone[host] += 1
        often = self._gone[host] - _GONE_OFTEN
        if often >= 0:
            seconds = _REST_SECONDS * 2 ** min(often, _MOST_DOUBLINGS)
            why = f"it went away {self._gone[host]} times in a row, each time with its trial"
            self._leave_alone(host, seconds, why)

    def measured(self, host: str) -> None:
        """A host has brought a trial to its end."""
        del self._gone[host]

    def _leave_alone(self, host: str, seconds: float, why: str) -> None:
        self._until[host] = self._clock() + seconds
        self._told(f"host {host} is left alone for {seconds:.0f} s: {why}")
