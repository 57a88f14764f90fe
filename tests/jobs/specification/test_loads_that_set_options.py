"""Jobs on loads whose application sets an option that a space would move, or whose writes wait."""

import pytest

from jobs.specification.named_files import specify
from jobs.specification.resolved_job import resolve
from sampler.common.errors import InputError
from sampler.rocksdb.options_file import CF

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
