"""A small run of the proof of endurance, and what it calls growing."""

from pathlib import Path
from typing import Any

import pytest

from studies.faults import endurance

pytestmark = pytest.mark.slow

FLAT = {"ms": 25.0, "rss": 250 * 2**20, "handles": 30, "threads": 16, "folders": 1}


def rows(part: str, **grows: float) -> list[dict[str, Any]]:
    """Ten samples of a part; what grows is so many times as large in the last three.

    The database takes 4,300 bytes a trial; so many times more in the second half, if it grows.
    """
    faster = 4_300_000 * (grows.pop("database", 1) - 1)
    return [
        {"part": part, "done": 1000 * place}
        | {"database": 4_300_000 * place + faster * max(0, place - 6)}
        | {name: value * (grows.get(name, 1) if place > 7 else 1) for name, value in FLAT.items()}
        for place in range(1, 11)
    ]


@pytest.mark.parametrize("part", [endurance.JOB, endurance.NIGHTS])
def test_what_stays_is_not_called_growing(part: str):
    assert endurance._grown(rows(part)) == []
    assert endurance._grown(rows(part, ms=1.2, rss=1.2, handles=1.05)) == []


@pytest.mark.parametrize(
    ("part", "name", "factor"),
    [
        (endurance.JOB, "ms", 1.4),
        (endurance.JOB, "rss", 1.7),
        (endurance.NIGHTS, "rss", 1.3),
        (endurance.NIGHTS, "handles", 1.5),
        (endurance.NIGHTS, "threads", 1.5),
        (endurance.NIGHTS, "folders", 3),
    ],
)
def test_what_grows_is_named(part: str, name: str, factor: float):
    (found,) = endurance._grown(rows(part, **{name: factor}))
    assert found.startswith(f"{part}: {name} ")


@pytest.mark.parametrize("part", [endurance.JOB, endurance.NIGHTS])
def test_a_database_that_takes_more_and_more_is_told(part: str):
    assert endurance._grown(rows(part, database=1.2)) == []
    (found,) = endurance._grown(rows(part, database=1.5))
    assert found == f"{part}: each adds 4,300 bytes to the database, then 6,450"


def test_a_small_job_and_a_night_leave_nothing(tmp_path: Path):
    samples = list(endurance._samples(tmp_path, trials=20, nights=1, strategy="random"))
    assert [(each.part, each.done) for each in samples] == [
        *((endurance.JOB, done) for done in range(2, 21, 2)), (endurance.NIGHTS, 1),
    ]  # fmt: skip
    assert samples[-1].folders == 0
    assert all(each.rss > 2**20 and each.handles > 3 for each in samples)
