"""What of a host's time the benchmark has, as the live page tells it."""

from typing import Any

import pytest

from jobs.views.live import bench_share


def standing(*, bench: float, ended: int, pause: float | None) -> dict[str, Any]:
    failed = ended // 3
    return {
        "done": ended - failed, "failed": failed,
        "bench_seconds": bench, "between_seconds": pause,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("ended", "pause", "share"), [(10, 0.0, 1.0), (10, 0.5, 0.95238), (4, 2.375, 0.90909)]
)
def test_is_of_the_mean_run_and_the_pause_after_it(ended: int, pause: float, share: float):
    found = bench_share(standing(bench=95.0 if ended == 4 else 100.0, ended=ended, pause=pause))
    assert found == pytest.approx(share, abs=1e-5)


@pytest.mark.parametrize(
    "known",
    [
        None,
        standing(bench=0.0, ended=0, pause=None),
        standing(bench=3.0, ended=1, pause=None),  # nothing came after it yet
        standing(bench=0.0, ended=2, pause=0.0),
    ],
)
def test_is_not_told_while_nobody_knows(known: dict[str, Any] | None):
    assert bench_share(known) is None
