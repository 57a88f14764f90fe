"""Trials that look at no other process: most of the tests' take less time than that look."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sampler.bench import runner
from sampler.machine.host_load import CpuMoment, read_moment
from tests.support import DATA

# As /proc with the counters of all processors, and without a process.
_ALONE = DATA / "proc_alone"


def moment() -> CpuMoment:
    """What the processors did until now, whoever used them."""
    return read_moment(_ALONE)


@contextmanager
def no_neighbours() -> Iterator[None]:
    """As long as it lasts, what others wanted of the processors is what they got of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "read_moment", moment)
        yield
