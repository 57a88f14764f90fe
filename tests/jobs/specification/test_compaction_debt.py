"""What a load still owes is no gain: neither unflushed memtables nor compactions left undone."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jobs.execution.assembly import assemble
from jobs.specification.load_warnings import too_small_warnings
from jobs.specification.named_files import specify
from jobs.specification.resolved_job import resolve
from jobs.specification.specification import Specification
from sampler.bench.db_bench import DbBench
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.space.space import memtable_bytes
from sampler.space.space_file import load_space
from sampler.workload.workload import Prepare, Settle, Workload

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


def test_a_file_that_deletes_old_data_is_told_of(tmp_path: Path, settings: Settings):
    own = tmp_path / "OPTIONS"
    own.write_text(UNDONE.replace("disable_auto_compactions=%s", "compaction_style=%s") % (
        "kCompactionStyleFIFO"
    ))  # fmt: skip
    warnings = assemble(specify(workload="load-quick", baseline=str(own)), settings).warnings
    assert any("RocksDB deletes the oldest files" in each for each in warnings)


def test_no_search_may_leave_compactions_undone(tmp_path: Path, settings: Settings):
    space = tmp_path / "debt.toml"
    space.write_text(SPACE)
    with pytest.raises(InputError, match="is not an option of RocksDB"):
        assemble(specify(workload="load-quick", space=str(space)), settings)


def test_a_search_that_could_buy_memtables_as_large_as_the_load_is_refused(settings: Settings):
    with pytest.raises(InputError, match="it would measure memory, not the tree"):
        assemble(specify(workload="load-quick", memory=16 * 2**30), settings)


@pytest.mark.db_bench
def test_a_memtable_that_holds_the_whole_load_wins_only_where_nobody_waits(settings: Settings):
    """The example of a naive measurement: less is written than there is data."""
    honest = {"compression_type": "none"}
    large = {"write_buffer_size": 2 * 2**30, **honest}
    plan = assemble(specify(workload="load-quick"), settings).plan

    def waf(settle: Settle, configuration: Mapping[str, Any]) -> float:
        load = replace(plan.workload, num=8_000, settle=settle)
        bench = DbBench(_installed(settings), replace(plan, workload=load))
        return LocalRunner(bench, settings).run(configuration).metrics["waf"]

    assert waf("none", large) < 0.1
    # All distinct keys are on disk then: 1 - 1/e of as many writes over as many keys.
    waited = waf("wait", large)
    assert waited > 0.6
    # And still it never compacts: waiting alone would let it win.
    assert waited < waf("wait", honest)


def _installed(settings: Settings):
    installed = assemble(specify(workload="load-quick"), settings).installed
    assert installed is not None
    return installed


# Just enough for the write buffers of the library's defaults: 16 times 2 MiB at scale 1/64.
SMALL_LOAD = 'name = "small"\nnum = 1300\nvalue_size = 26000\nsettle = "wait"\n'
LARGE_BUFFERS = """name = "buffers"
memory_budget = {budget}
[[parameter]]
name = "write_buffer_size"
low = "8MiB"
high = "16GiB"
[[parameter]]
name = "max_write_buffer_number"
low = 2
high = 8
"""
LATE = """name = "late"
memory_budget = {budget}
{which}
"""
OFFERED = """[[parameter]]
name = "level0_file_num_compaction_trigger"
high = 400
[[parameter]]
name = "level0_slowdown_writes_trigger"
high = 400
[[parameter]]
name = "level0_stop_writes_trigger"
high = 400
"""
FIXED = """[fixed]
level0_file_num_compaction_trigger = 400
level0_slowdown_writes_trigger = 400
level0_stop_writes_trigger = 400
[[parameter]]
name = "block_size"
"""
# The triggers above it keep it where it always was: this one is taken.
BOUNDED = '[[parameter]]\nname = "level0_file_num_compaction_trigger"\nhigh = 400\n'


def asked(tmp_path: Path, space: str) -> Specification:
    (tmp_path / "small.toml").write_text(SMALL_LOAD)
    (tmp_path / "space.toml").write_text(space)
    return specify(
        workload=str(tmp_path / "small.toml"), space=str(tmp_path / "space.toml"),
        objective="waf", strategy="lhs", trials=12, no_price=True,
    )  # fmt: skip


@pytest.mark.parametrize("budget", ["true", "false"])
def test_a_space_that_offers_memtables_larger_than_the_load(
    budget: str, tmp_path: Path, settings: Settings
):
    """Within a budget none of them can be drawn; without one they may win, and it is told."""
    job = assemble(asked(tmp_path, LARGE_BUFFERS.format(budget=budget)), settings)
    problem, largest = job.problem, {"write_buffer_size": 2**34, "max_write_buffer_number": 8}
    assert problem.affords(problem.space.complete(largest)) is (budget == "false")
    drawn = problem.space.complete(problem.configuration(dict.fromkeys(problem.space.names, 1.0)))
    # More than a sixteenth of the load fits into the scaled write buffers.
    assert (memtable_bytes(drawn) // 64 > 1_300 * 26_016 / 16) is (budget == "false")
    told = any("has no memory budget" in each for each in job.warnings)
    assert told is (budget == "false")


@pytest.mark.db_bench
@pytest.mark.parametrize("which", [OFFERED, FIXED], ids=["offered", "fixed"])
def test_a_space_that_holds_compaction_back_is_refused_within_a_budget_and_told_of_without(
    which: str, tmp_path: Path, settings: Settings
):
    with pytest.raises(InputError, match="data that is never compacted looks cheap") as refused:
        assemble(asked(tmp_path, LATE.format(budget="true", which=which)), settings)
    assert refused.value.field == "space.parameter (level0_file_num_compaction_trigger)"
    warnings = assemble(
        asked(tmp_path, LATE.format(budget="false", which=which)), settings
    ).warnings
    assert any("data that is never compacted looks cheap" in each for each in warnings)


@pytest.mark.parametrize("name", ["default", "universal", "blob", "all"])
def test_no_shipped_space_with_a_budget_can_hold_compaction_back(name: str, tmp_path: Path):
    (tmp_path / "small.toml").write_text(SMALL_LOAD)
    specification = specify(workload=str(tmp_path / "small.toml"), space=name)
    assert not any("never compacted" in each for each in resolve(specification, None).warnings)


def test_a_trigger_that_others_bound_is_taken(tmp_path: Path):
    (tmp_path / "space.toml").write_text(LATE.format(budget="true", which=BOUNDED))
    specification = specify(workload="load-quick", space=str(tmp_path / "space.toml"))
    assert not any("never compacted" in each for each in resolve(specification, None).warnings)


def test_a_budget_that_the_space_does_not_promise_warns_alone():
    asked = specify(workload="load-quick", space="paper", memory=2**30)
    told = [each for each in resolve(asked, None).warnings if "never compacted" in each]
    assert len(told) == 1
    assert told[0].startswith("level0_file_num_compaction_trigger: compaction may wait for 16")


LOADS = {
    "fill": (Workload(name="w", num=100_000), ("num",)),
    "writes": (
        Workload(name="w", num=100_000, flags=(("writes", 50_000),)),
        ("num", "flags.writes"),
    ),
    "prepared": (
        Workload(
            name="w",
            num=60_000,
            benchmarks=("readrandom",),
            measured=("readrandom",),
            prepare=Prepare(benchmarks=("fillrandom",), num=50_000),
        ),
        ("num", "prepare.num"),
    ),
}


@pytest.mark.parametrize("name", LOADS)
@pytest.mark.parametrize("mib", [128, 513, 1024, 32 * 1024])
def test_the_load_that_a_warning_names_is_large_enough(name: str, mib: int):
    load, fields = LOADS[name]
    values = {
        **load_space("all").at_baseline({}).start,
        "write_buffer_size": mib * 2**20,
        "max_write_buffer_number": 4,
    }
    (warning,) = too_small_warnings(load, values)
    said = dict(re.findall(r"([\w.]+) = ([\d_]+)", warning))
    assert tuple(said) == fields
    counts = {field: int(text) for field, text in said.items()}
    larger = replace(load, num=counts["num"])
    if "flags.writes" in counts:
        larger = replace(larger, flags=(("writes", counts["flags.writes"]),))
    if load.prepare:
        larger = replace(larger, prepare=replace(load.prepare, num=counts["prepare.num"]))
    assert too_small_warnings(larger, values) == []
