"""What a load still owes is no gain: neither unflushed memtables nor compactions left undone."""

from dataclasses import replace
from pathlib import Path

import pytest

from jobs.assembly import assemble
from jobs.specify import specify
from sampler.db_bench import DbBench
from sampler.errors import InputError
from sampler.runner import LocalRunner
from sampler.settings import Settings

UNDONE = """[Version]
  rocksdb_version=7.8.3
  options_file_version=1.1
[DBOptions]
[CFOptions "default"]
  disable_auto_compactions=%s
"""
SPACE = """name = "debt"
help = "h"
[[parameter]]
name = "disable_auto_compactions"
type = "bool"
default = false
"""


@pytest.mark.parametrize(("written", "told"), [("true", True), ("1", True), ("false", False)])
def test_a_file_that_leaves_compactions_undone_is_told_of(
    written: str, told: bool, tmp_path: Path, settings: Settings
):
    own = tmp_path / "OPTIONS"
    own.write_text(UNDONE % written)
    warnings = assemble(specify(workload="load-quick", baseline=str(own)), settings).warnings
    assert any("no run compacts anything" in each for each in warnings) is told


def test_no_search_may_leave_compactions_undone(tmp_path: Path, settings: Settings):
    space = tmp_path / "debt.toml"
    space.write_text(SPACE)
    with pytest.raises(InputError, match="is no option of RocksDB"):
        assemble(specify(workload="load-quick", space=str(space)), settings)


def test_a_search_that_could_buy_memtables_as_large_as_the_load_is_refused(settings: Settings):
    with pytest.raises(InputError, match="it would measure memory, not the tree"):
        assemble(specify(workload="load-quick", memory=16 * 2**30), settings)


@pytest.mark.db_bench
def test_a_memtable_that_holds_the_whole_load_wins_only_where_nobody_waits(settings: Settings):
    """The example of a naive measurement: less is written than there is data."""
    large = {"write_buffer_size": 2 * 2**30, "compression_type": "none"}
    plan = assemble(specify(workload="load-quick"), settings).plan
    waf = {}
    for settle in ("none", "wait"):
        load = replace(plan.workload, num=8_000, settle=settle)
        outcome = LocalRunner(
            DbBench(_installed(settings), replace(plan, workload=load)), settings
        ).run(large)
        waf[settle] = outcome.metrics["waf"]
    assert waf["none"] < 0.1
    # All distinct keys are on disk then: 1 - 1/e of as many writes over as many keys.
    assert waf["wait"] > 0.6


def _installed(settings: Settings):
    installed = assemble(specify(workload="load-quick"), settings).installed
    assert installed is not None
    return installed
