"""Real trials that replay a trace: what is counted is what the trace holds."""

import hashlib
from pathlib import Path

import pytest

from sampler.bench.bench_plan import measured_flags
from sampler.bench.installed import InstalledDbBench
from sampler.bench.metrics import replayed
from sampler.bench.outcome import TrialState
from sampler.bench.query_trace import MULTIGET, WRITE
from sampler.common.errors import InputError
from sampler.profile.trace import read_trace_profile
from sampler.workload.workload import Prepare, Trace
from tests.support.sampler.real_runs import Kept, Measure, tiny_plan
from tests.support.sampler.traces import (
    FAMILIES,
    MIXED,
    batch,
    multiget,
    record,
    recorded,
    whole,
)

pytestmark = pytest.mark.db_bench
SMALL = {"write_buffer_size": 8 * 2**20}
KEYS = 20_000
MIXGRAPH = (
    f"--num={KEYS}", "--value_size=100", "--reads=20000", "--mix_get_ratio=0.5",
    "--mix_put_ratio=0.4", "--mix_seek_ratio=0.1", "--key_dist_a=0.002312", "--key_dist_b=0.3467",
)  # fmt: skip


def replay(measure: Measure, trace: Trace, **load: object) -> Kept:
    named = {"benchmarks": ("replay",), "measured": ("replay",), "settle": "flush"}
    return measure(SMALL, trace=trace, **{**named, **load})


@pytest.fixture(scope="module")
def mixgraph(installed: InstalledDbBench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mixgraph")
    return recorded(installed.program, folder, "fillrandom,mixgraph", *MIXGRAPH)[0]


def test_a_trace_is_replayed_whole_onto_a_prepared_database(measure: Measure, mixgraph: Path):
    digest = hashlib.sha256(mixgraph.read_bytes()).digest()
    (truth,) = read_trace_profile(mixgraph).families
    fill = Prepare(benchmarks=("fillrandom",), num=KEYS)
    fast = Trace(path=str(mixgraph), fast_forward=1000.0)
    kept = replay(measure, fast, prepare=fill, value_size=100)
    outcome = kept.outcome
    assert outcome.state is TrialState.DONE, outcome.failure
    counted, metrics = outcome.counters, outcome.metrics
    assert counted["number.keys.written"] == truth.operations["put"]
    assert counted["number.keys.read"] == truth.operations["get"]
    assert counted["number.db.seek"] == truth.operations["seek"]
    assert replayed(counted) == 20_000
    assert metrics["rate"] == pytest.approx(20_000 / metrics["load_time"])
    stored = counted["flush.write.bytes"] + counted["compact.write.bytes"]
    assert metrics["waf"] == pytest.approx(stored / counted["bytes.written"])
    # What is there is counted: keys that fillrandom or the trace wrote.
    live = metrics["lsm_bytes"] / metrics["sa"]
    assert 0.6 * KEYS * 116 < live < KEYS * (116 + 50)
    assert metrics["prepare_seconds"] > 0
    assert hashlib.sha256(mixgraph.read_bytes()).digest() == digest


def test_a_slice_is_replayed_at_its_own_pace(measure: Measure, mixgraph: Path):
    lasts = read_trace_profile(mixgraph).seconds
    assert lasts
    part = Trace(path=str(mixgraph), fast_forward=0.5, begin=lasts / 2)
    outcome = replay(measure, part).outcome
    assert outcome.state is TrialState.DONE, outcome.failure
    assert 0 < replayed(outcome.counters) < 20_000
    assert outcome.metrics["load_time"] > lasts - 0.01  # half of it, half as fast


def test_a_trace_that_only_reads_has_no_write_amplification(
    measure: Measure, installed: InstalledDbBench, tmp_path: Path
):
    sizes = ("--num=2000", "--value_size=100")
    path, _ = recorded(installed.program, tmp_path, "fillseq,readrandom", *sizes)
    fill = Prepare(benchmarks=("fillseq",), num=2000)
    outcome = replay(measure, Trace(path=str(path)), prepare=fill, settle="none").outcome
    assert outcome.state is TrialState.DONE, outcome.failure
    assert "waf" not in outcome.metrics
    assert outcome.counters["number.keys.read"] == 2000
    assert outcome.metrics["sa"] > 0


def test_families_are_all_replayed_by_several_threads(measure: Measure):
    flags = (("num_column_families", 3),)
    fill = Prepare(benchmarks=("fillseq",), num=300)
    trace = Trace(path=str(FAMILIES))
    outcome = replay(measure, trace, flags=flags, threads=4, prepare=fill).outcome
    assert outcome.state is TrialState.DONE, outcome.failure
    assert outcome.counters["number.keys.written"] == 300
    assert "sa" not in outcome.metrics  # one family alone could be counted


def test_client_threads_are_those_of_the_replay(installed: InstalledDbBench):
    replayed_by_four = tiny_plan(installed, trace=Trace(path="a", fast_forward=2.0), threads=4)
    flags = measured_flags(replayed_by_four, SMALL)
    wanted = {"threads": 1, "trace_replay_threads": 4, "trace_replay_fast_forward": 2.0}
    assert wanted.items() <= flags.items()


def test_deletes_and_batches_are_counted_by_key(measure: Measure):
    outcome = replay(measure, Trace(path=str(MIXED))).outcome
    assert outcome.state is TrialState.DONE, outcome.failure
    assert outcome.counters["number.keys.written"] == 450
    assert replayed(outcome.counters) == 900


def test_what_db_bench_would_leave_out_is_refused_before(
    measure: Measure, installed: InstalledDbBench, tmp_path: Path
):
    with pytest.raises(
        InputError, match=r"^workload\.flags\.num_column_families: .* write 3 in \[flags\]"
    ):
        replay(measure, Trace(path=str(FAMILIES)))
    merging = ("--num=100", "--merge_operator=put")
    path, _ = recorded(installed.program, tmp_path, "mergerandom", *merging)
    with pytest.raises(
        InputError, match=r"^workload\.flags\.merge_operator: the trace has merges"
    ):
        replay(measure, Trace(path=str(path)))
    flags = (("merge_operator", "put"),)
    assert replay(measure, Trace(path=str(path)), flags=flags).outcome.state is TrialState.DONE


def test_a_replay_that_stops_is_a_failure_though_db_bench_ends_well(
    measure: Measure, tmp_path: Path
):
    # RocksDB reads no multiget of a trace of that version, which never had any.
    read = record(2, MULTIGET, multiget(0, (0, b"a"))[21:])
    put = record(1, WRITE, batch([("put", 0, b"a", b"1")]))
    path = tmp_path / "trace"
    path.write_bytes(whole(put, read, version="0.1"))
    outcome = replay(measure, Trace(path=str(path))).outcome
    assert outcome.state is TrialState.FAILED
    assert outcome.failure
    assert outcome.failure.startswith("Replay failed. Error: Corruption: MultiGet")
