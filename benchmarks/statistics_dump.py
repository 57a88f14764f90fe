"""What it costs that RocksDB writes its counters into the LOG every second.

Run alone: ``python -m benchmarks.statistics_dump``. Pairs of runs of the same load, with the dump
and without it, in turn; the ratio of their rates with its 95% interval.
"""

import dataclasses
import random

from jobs.execution.assembly import assemble
from jobs.specification.named_files import specify
from optimizer.budget.power import p_words
from optimizer.confirmation.paired_tests import change
from sampler.bench import bench_plan
from sampler.bench.db_bench import DbBench
from sampler.bench.outcome import Outcome
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings

PAIRS = 12
NUM = 500_000


def main() -> None:
    """Prints the change of rate, time and WAF that the dump makes."""
    settings = Settings()
    assembly = assemble(specify(workload="load-quick"), settings)
    assert isinstance(assembly.benchmark, DbBench)
    workload = dataclasses.replace(assembly.plan.workload, num=NUM, settle="flush")
    plan = dataclasses.replace(assembly.plan, workload=workload)
    runner = LocalRunner(dataclasses.replace(assembly.benchmark, plan=plan), settings)
    dump = bench_plan.DUMP_STATISTICS
    pairs: list[tuple[Outcome, Outcome]] = []
    for pair in range(PAIRS):
        runs: dict[bool, Outcome] = {}
        for dumping in random.Random(pair).sample([False, True], 2):
            bench_plan.DUMP_STATISTICS = dump if dumping else {"stats_dump_period_sec": "0"}
            runs[dumping] = runner.run({})
        pairs.append((runs[False], runs[True]))
    environment = assembly.installed.version if assembly.installed else "?"
    print(f"RocksDB {environment}, {PAIRS} pairs of {NUM:,} writes, settle = flush")
    for metric in ("rate", "time", "waf", "cpu_seconds"):
        found = change([(off.metrics[metric], on.metrics[metric]) for off, on in pairs])
        print(
            f"{metric:12} {found.percent:+.2f}% [{found.low:+.2f}, {found.high:+.2f}]"
            f"  {p_words(found.p)}"
        )


if __name__ == "__main__":
    main()
