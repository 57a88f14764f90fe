import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler.rocksdb.opening import Interval
from tests.support import DATA
from tests.support.sampler.read_openings import parse_openings
from tests.support.sampler.written_dumps import Dump, Family, text

DATA = DATA / "db_bench_outputs"
SINE = (DATA / "sine_wave_intervals.txt").read_text()


def parse_intervals(text: str) -> tuple[tuple[Interval, ...], ...]:
    return tuple(opening.intervals for opening in parse_openings(text))


def test_all_intervals_of_a_real_sine_load() -> None:
    (opening,) = parse_intervals(SINE)
    assert len(opening) == 16  # the last of them stands first in the file
    assert [each.at for each in opening] == sorted(each.at for each in opening)
    first, last = opening[0], opening[-1]
    assert (first.at, first.seconds, first.writes, first.compaction) == (1.0, 1.0, 9.42, 20.05)
    assert last == Interval(
        at=20.2, seconds=0.9, writes=10.6, cumulative_writes=21.32, ingested_gib=0.42,
        compaction=93.77, cumulative_compaction=128.14, compacted_gib=2.53,
        compaction_read=84.22, cumulative_compaction_read=106.99,
        stall_percent=0.0, cumulative_stall_percent=41.5,
    )  # fmt: skip


def test_interval_lengths_add_up_to_the_uptime() -> None:
    (opening,) = parse_intervals(SINE)
    assert sum(each.seconds for each in opening) == pytest.approx(opening[-1].at, abs=0.5)


def test_the_rates_of_intervals_average_to_the_cumulative_rate() -> None:
    (opening,) = parse_intervals(SINE)
    total = sum((each.compaction or 0) * each.seconds for each in opening)
    last = opening[-1]
    assert total / last.at == pytest.approx(last.cumulative_compaction, rel=0.03)


def test_column_families_are_counted_together_and_the_database_once() -> None:
    families = tuple(Family(name=name) for name in "abc")
    ((only,),) = parse_intervals(Dump(at=600.0, seconds=600.0, families=families).text())
    found = (only.compaction, only.cumulative_compaction, only.compacted_gib)
    assert found == pytest.approx((3 * 0.34, 3 * 3.41, 6.0))
    assert only.writes == 1.0


def test_a_database_opened_again_begins_anew() -> None:
    first = [Dump(at=at, seconds=length) for at, length in ((0, 0), (600, 600), (1200.1, 600.1))]
    again = [Dump(at=0, seconds=0), Dump(at=600, seconds=600, ingest=9.0)]
    openings = parse_intervals(text(*first, *again))
    assert [[each.at for each in opening] for opening in openings] == [
        [0.0, 600.0, 1200.1], [0.0, 600.0],
    ]  # fmt: skip
    assert [opening[1].ingested_gib for opening in openings] == [1.0, 9.0]


def test_an_output_without_dumps_has_no_interval() -> None:
    assert parse_intervals((DATA / "fails_unknown_flag.txt").read_text()) == ()


@settings(deadline=None, max_examples=40)
@given(st.integers(0, len(SINE)), st.integers(0, len(SINE)))
def test_a_log_cut_off_anywhere_is_read_without_inventing_anything(a: int, b: int) -> None:
    (whole,) = parse_intervals(SINE)
    known = {each.at: each for each in whole}
    for opening in parse_intervals(SINE[min(a, b) : max(a, b)]):
        for each in opening:
            if each.at in known:
                sound = known[each.at]
                assert each.cumulative_writes in (None, sound.cumulative_writes)
                assert each.cumulative_compaction in (None, sound.cumulative_compaction)
