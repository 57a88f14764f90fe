"""What a load does most: write, read, scan, or some of each."""

from collections.abc import Mapping
from typing import Literal

from sampler.parameters.parameter import Value
from sampler.workload.db_bench_benchmarks import DbBenchBenchmark, run_of
from sampler.workload.filled_keys import operations_of, threads_of
from sampler.workload.workload import Workload

LoadClass = Literal["writing", "mixed", "reading", "scans"]
_SCANS = ("readseq", "readreverse", "multiscan", "multiscanrandom", "readwhilescanning")
# Of all operations that are measured: with more writes a load is a writing one, with fewer a
# reading one.
_MOSTLY, _HARDLY = 0.75, 0.1


def load_class(workload: Workload) -> LoadClass:
    """The class of a load, by the operations of the benchmarks that are measured.

    Three quarters writes and more are ``writing``; of others, where half of what is not written
    is scans, ``scans``; a tenth writes and fewer are ``reading``. A load that db_bench does not
    run is ``mixed``, for nothing is known of it, and so is a trace.
    """
    if not workload.by_db_bench or workload.trace:
        return "mixed"
    flags = dict(workload.flags)
    total = writes = scans = 0.0
    for text in workload.measured:
        run = run_of(text)
        count = operations_of(run.benchmark, workload.num, flags)
        count *= threads_of(run.benchmark, workload.threads)
        written, scanned = _shares(run.benchmark, flags)
        total, writes, scans = total + count, writes + written * count, scans + scanned * count
    total = total or 1.0
    if writes >= _MOSTLY * total:
        return "writing"
    if scans and 2 * scans >= total - writes:
        return "scans"
    return "reading" if writes <= _HARDLY * total else "mixed"


def _shares(benchmark: DbBenchBenchmark, flags: Mapping[str, Value]) -> tuple[float, float]:
    """Which share of a benchmark's operations write, and which scan.

    A write that reads what was there before is half a write; a thread that writes beside others
    does half of all, for how much it writes is not known before.
    """

    def share(flag: str, usual: float) -> float:
        return float(flags.get(flag, usual))

    match benchmark.name:
        case "readrandomwriterandom" | "randomwithverify":
            return 1 - share("readwritepercent", 90) / 100, 0.0
        case "readrandommergerandom":
            return share("mergereadpercent", 70) / 100, 0.0
        case "mixgraph":  # the help of db_bench: get, put and seek are 1, 0 and 0
            put, seek = share("mix_put_ratio", 0), share("mix_seek_ratio", 0)
            whole = share("mix_get_ratio", 1) + put + seek or 1.0
            return put / whole, seek / whole
    scanned = benchmark.name in _SCANS or "seek" in benchmark.latencies
    if benchmark.beside:
        return 0.5, 0.5 * scanned
    if not benchmark.writes:
        return 0.0, float(scanned)
    return (1.0 if {*benchmark.latencies} <= {"write", "delete", "merge"} else 0.5), 0.0
