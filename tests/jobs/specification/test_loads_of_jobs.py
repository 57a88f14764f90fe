"""What a job says of its load: the levels that it fills, options that it sets, its trace."""

from dataclasses import replace
from pathlib import Path

import pytest

from jobs.specification.load_warnings import deepest_level
from jobs.specification.named_files import inlined, registered_workloads, specify
from jobs.specification.resolved_job import resolve
from sampler.common.errors import InputError
from sampler.rocksdb.options_file import CF
from sampler.space.space import default_values
from sampler.workload.workload_file import load_workload, require_no_place
from tests.support import DATA
from tests.support.sampler.traces import MIXED

LIBRARY = default_values("library")
QUICK = load_workload("load-quick")


def warned(**asked: object) -> list[str]:
    framed = resolve(specify(**asked), None)  # type: ignore[arg-type]
    return [each for each in framed.warnings if "fills levels" in each]


def test_the_quick_load_fills_level_2_as_db_bench_shows_it():
    # docs/results/ranking_scale.jsonl: level 0 empty, 3 MB in level 1, 37 MB in level 2.
    assert deepest_level(QUICK, LIBRARY) == 2


@pytest.mark.parametrize(
    ("keys", "moved", "level"),
    [
        (5_000, {}, 1),
        (1_000_000, {}, 3),
        (10_000_000, {}, 4),
        (10_000_000, {"num_levels": 3}, 2),
        (1_000_000, {"max_bytes_for_level_base": 2**31}, 2),
        (130_000, {"compression_type": "none"}, 3),  # twice the bytes
        (130_000, {"min_level_to_compress": 4}, 3),
        (130_000, {}, 2),
    ],
)
def test_more_keys_go_deeper(keys: int, moved: dict[str, object], level: int):
    values = {**LIBRARY, **moved}
    assert deepest_level(replace(QUICK, num=keys), values) == level


def test_the_same_load_at_another_scale_is_as_deep():
    for keys in (50_000, 100_000, 400_000):
        load = replace(QUICK, num=keys)
        assert deepest_level(load, LIBRARY) == deepest_level(load.at_scale(1), LIBRARY)


def test_universal_compaction_has_no_such_levels():
    assert deepest_level(QUICK, {**LIBRARY, "compaction_style": "universal"}) is None


def test_the_options_concerned_are_named():
    (text,) = warned(workload="load-quick")
    assert "levels 0 to 2" in text
    assert "min_level_to_compress of 3 or more compresses nothing" in text
    assert "num_levels of 3 or more makes no difference" in text
    assert "max_bytes_for_level_multiplier" not in text
    (text,) = warned(workload="load")
    assert "min_level_to_compress of 4 or more" in text


def test_nothing_is_said_where_the_space_has_none_of_them():
    assert warned(workload="load-quick", space="universal") == []


OWN = '[Version]\nrocksdb_version=7.8.3\n[DBOptions]\n[CFOptions "default"]\n{}\n'
FIFO = "compaction_style=kCompactionStyleFIFO"


def test_a_time_series_is_never_searched_over_other_ways_to_compact():
    job = resolve(specify(workload="timeseries-quick"), None)
    assert "compaction_style" not in job.problem.space.names
    assert not job.problem.space.is_active("max_bytes_for_level_base", job.problem.space.start)
    assert any("the load timeseries-quick sets it" in line for line in job.warnings)
    # The size that it keeps is the load's, at its scale: an exported file would drop data.
    assert job.plan.export({"block_size": 8192}).get(CF, "compaction_style") is None


def test_a_space_that_fixes_what_the_load_sets_is_refused():
    with pytest.raises(InputError, match=r"space: universal fixes compaction_style"):
        resolve(specify(workload="timeseries-quick", space="universal"), None)


def test_a_file_of_the_users_own_says_it_instead_of_the_load(tmp_path):
    own = tmp_path / "OPTIONS"
    own.write_text(OWN.format(FIFO))
    job = resolve(specify(workload="timeseries-quick", baseline=str(own)), None)
    assert job.plan.export({}).get(CF, "compaction_style") == "kCompactionStyleFIFO"


def test_bursts_can_be_tuned_for_the_waits_of_their_writes():
    job = resolve(specify(workload="bursts-quick", objective="stalls"), None)
    assert [(t.metric, t.direction) for t in job.problem.objective.terms] == [
        ("stall_percent", "min"), ("write_p99", "min"),
    ]  # fmt: skip


REPLAYED = str(DATA / "good_workloads" / "replayed.toml")


def test_a_job_keeps_its_trace():
    problem = resolve(specify(workload=REPLAYED, space="default"), None).problem
    assert problem.workload == load_workload(REPLAYED)


def test_a_trace_that_writes_little_is_told_to_be_longer():
    asked = specify(workload=REPLAYED, space="default", scale=1)
    with pytest.raises(InputError, match=r"; replay more of the trace \(num is about the number"):
        resolve(asked, None)


def test_a_trace_cannot_be_confirmed_at_a_larger_scale():
    with pytest.raises(InputError, match="a trace replays the same operations at any scale"):
        specify(workload=REPLAYED, confirm_scale=8)


def test_a_service_knows_the_traces_of_its_operator_and_no_other(tmp_path: Path):
    (tmp_path / "mine.toml").write_text(f'name = "mine"\ntrace = "{MIXED}"\n')
    assert registered_workloads(tmp_path)["mine"]["trace"] == str(MIXED)
    with pytest.raises(InputError, match=r"workload.trace: .* not accepted over HTTP"):
        require_no_place(inlined({"workload": str(tmp_path / "mine.toml")})["workload"])
