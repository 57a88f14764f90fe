"""Each load that people have, run at an eighth: what is told of it against what is there."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from sampler.bench.bench_plan import BenchPlan
from sampler.bench.db_bench import DbBench
from sampler.bench.installed import InstalledDbBench
from sampler.bench.outcome import Outcome, TrialState
from sampler.bench.output import RocksdbLog, parse_output
from sampler.bench.runner import LocalRunner, Stage
from sampler.bench.settings import Settings
from sampler.rocksdb.log_reader import LogReader
from sampler.rocksdb.options_file import CF, OptionsFile, parse_options
from sampler.space.space import Configuration
from sampler.space.space_file import load_space
from sampler.workload.workload_file import load_workload
from studies.space_amplification import MOST_OFF, Scanned

EIGHTH = 512  # a scale
PUTS, READS, SEEKS = "number.keys.written", "number.keys.read", "number.db.seek"
KEYS_OF_BATCHES = "number.multiget.keys.read"
# The counters of RocksDB that together count what ``rate`` is of.
COUNTED: Mapping[str, Sequence[str]] = {
    "deletes": (PUTS, SEEKS),
    "read-modify-write": (PUTS,),
    "merges": (PUTS, READS),
    "seeks": (SEEKS,),
    "prefix-seeks": (SEEKS,),
    "timeseries": (PUTS, SEEKS),
    "multiget": (KEYS_OF_BATCHES,),
    "bulk-load": (PUTS,),
    "bursts": (PUTS,),
    "mixgraph": (PUTS, READS, SEEKS),
}
# Bytes of a write beside its key and value: its own and those of a batch (write_batch.cc).
MOST_BESIDE = 20


class Leaving(Scanned):
    """Keeps what a run left before its folder is removed."""

    def following(
        self, configuration: Configuration, folder: Path, outcome: Outcome, *, reads: int
    ) -> Sequence[Stage]:
        self.lines = parse_output((folder / "stdout").read_text()).lines
        self.log = LogReader(folder / "db" / "LOG", RocksdbLog).read()
        self.options = parse_options((folder / "OPTIONS.ini").read_text())
        return super().following(configuration, folder, outcome, reads=reads)


@pytest.mark.db_bench
@pytest.mark.parametrize("name", COUNTED)
def test_what_is_told_of_a_load_is_what_its_database_and_rocksdb_hold(
    name: str, installed: InstalledDbBench, settings: Settings
):
    workload = load_workload(f"{name}-quick").at_scale(EIGHTH)
    library = installed.library_defaults()
    space = load_space("all").at_baseline({**library, **workload.facts()})
    left = Leaving(DbBench(installed, BenchPlan(workload, space, library)))
    outcome = LocalRunner(left, settings).run({})
    assert (outcome.state, outcome.failure) == (TrialState.DONE, None)
    metrics, counters = outcome.metrics, outcome.counters
    assert left.keys > 0
    assert metrics["sa"] == pytest.approx(metrics["lsm_bytes"] / left.live, rel=MOST_OFF)

    printed = [line for line in left.lines if line.name.split()[0] in workload.measured]
    operations = sum(line.operations for line in printed)
    assert operations == sum(counters[counter] for counter in COUNTED[name])
    assert metrics["rate"] == operations / sum(line.seconds for line in printed)

    written = counters["bytes.written"]
    if name == "multiget":
        assert written == 0 and "waf" not in metrics
        return
    # The sizes of the files that the LOG names are no counters.
    assert metrics["waf"] * written == pytest.approx(left.log.created_bytes, rel=0.02)
    pairs = counters[PUTS] * (workload.key_size + workload.value_size)
    asked = workload.user_bytes() or pairs  # how much a writer beside seeks writes is not known
    assert 0.97 * asked <= written <= 1.03 * asked + MOST_BESIDE * counters[PUTS]
    if name == "timeseries":  # the newest alone are kept
        assert left.keys < 0.5 * counters[PUTS]
        assert metrics["lsm_bytes"] <= 1.1 * workload.fifo_bytes
        assert counters["compact.write.bytes"] == 0
    if name == "prefix-seeks":  # which end with their prefix
        assert left.options.get(CF, "prefix_extractor") == "rocksdb.FixedPrefix.8"
        found = counters["number.db.next.found"] / counters[SEEKS]
        assert 3 < found < 10 < dict(workload.flags)["seek_nexts"]


@pytest.mark.db_bench
def test_what_the_application_sets_is_in_every_trial_and_in_no_exported_file(
    installed: InstalledDbBench,
):
    library = installed.library_defaults()
    space = load_space("all").at_baseline(library)
    for name, key in (
        ("merges-quick", "merge_operator"),
        ("prefix-seeks-quick", "prefix_extractor"),
        ("timeseries-quick", "compaction_style"),
    ):
        workload = load_workload(name)
        plan = BenchPlan(workload, space, library)
        moved = {"compaction_style": "universal", "block_size": 8192}
        assert plan.options(moved).get(CF, key) == workload.options[key]
        assert plan.export({"block_size": 8192}).get(CF, key) is None
    own = OptionsFile({CF: {"compaction_style": "kCompactionStyleLevel"}})
    theirs = BenchPlan(workload, space, library, own)
    assert theirs.options({}).get(CF, "compaction_style") == "kCompactionStyleLevel"
