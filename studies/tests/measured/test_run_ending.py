"""When runs end: the page's figures are those of the rows."""

import pytest

from studies.run_ending import Row, idle_seconds, page
from tests.support.sampler.log_lines import AT_6, FLUSH_BEGINS, event

MACHINE = {"cpu": "a CPU", "cores": 2, "file_system": "ext4", "system": "Debian",
           "rocksdb": "7.8.3"}  # fmt: skip


def row(number: int, way: str, wall: float, *, lost: int = 0, idle: float | None = None) -> Row:
    metrics = {"waf": 2.0, "sa": 0.6, "time": 1.5, "rate": 9.0 * number, "wall_seconds": wall}
    return Row("load-quick", number, way, "done", metrics, idle, lost, "2026-11-26", MACHINE)


def test_it_tells_what_is_waited_and_that_waiting_on_changes_nothing():
    rows = [row(n, "before", 5.5) for n in (1, 2)]
    rows += [row(n, "rest", 2.0 + n / 10, idle=0.004 * n) for n in (1, 2, 3)]
    rows += [row(n, "waited", 7.5, lost=n == 3) for n in (1, 2, 3)]
    text = page(rows, "make prove-ending")
    assert "| load-quick | 7.8.3 | before | 2 | 5.50 | 1.50 | 4.00 | 4.00 to 4.00 |" in text
    assert "| load-quick | 7.8.3 | rest | 3 | 2.20 | 1.50 | 0.70 | 0.62 to 0.78 |" in text
    assert "| load-quick | 7.8.3 | 3 | " + " | ".join(["+0.0% [+0.0, +0.0]"] * 4) + " |" in text
    assert "in 1 of 3 `waited` runs" in text and "in 0 of 3 `rest` runs" in text
    assert "in 3 runs that had one: 8.0 ms in the median, 12.0 ms at most" in text


@pytest.mark.parametrize(
    ("before", "after", "longest"),
    [
        ("", [("flush_started", 3.0, 1), ("flush_finished", 3.5, 1)], None),
        ("", [("flush_started", 3.0, 1), ("flush_finished", 3.5, 1),
              ("compaction_started", 3.6, 2), ("compaction_finished", 4.0, 2),
              ("compaction_started", 4.3, 3), ("compaction_finished", 4.9, 3)], 0.3),
        (event("compaction_started", AT_6 + 1, 9),
         [("flush_started", 3.0, 1), ("flush_finished", 3.5, 1),
          ("compaction_started", 3.6, 2), ("compaction_finished", 4.0, 2)], None),
    ],
    ids=["one", "two gaps", "one that began before goes on"],
)  # fmt: skip
def test_idle_is_what_lies_between_works_after_the_load(before, after, longest):
    log = before + FLUSH_BEGINS + "".join(event(n, AT_6 + at, job) for n, at, job in after)
    assert idle_seconds(log) == (None if longest is None else pytest.approx(longest))
