"""Reads of the tree that a load leaves: which are measured, and where none can be.

What is tuned for writes alone may pay with reads: universal compaction, many files in level 0 and
large blocks all do.
"""

from collections.abc import Iterable

from sampler.workload.workload import Workload

# The metric of each kind of read, in operations a second, and db_bench's benchmark of it.
KINDS = {"read_present": "readrandom", "read_absent": "readmissing", "scan_short": "seekrandom"}
COLD = "_cold"  # the same from the device: nothing of the tree is in the page cache
UNTOLD = "{} is not measured: "  # begins a trial's warning on the metric
TRANSACTIONS = ("transaction_db", "optimistic_transaction_db")  # flags
READS = (*KINDS, *(kind + COLD for kind in KINDS))


def why_unread(workload: Workload) -> str:
    """Why reads of the tree that a load leaves are not measured; empty where they are."""
    if workload.command is not None:
        return "your own command measures, and only it knows the data that it leaves"
    if workload.external:
        return "your own runner measures, outside Rocktune"
    if workload.trace is not None:
        return "db_bench reads its own keys, and a trace has others"
    if workload.writes_nothing:
        return "the load only reads, so its own metrics measure reads"
    if workload.column_families > 1:
        return "db_bench reads only one column family of a database opened read-only"
    if any(dict(workload.flags).get(name) for name in TRANSACTIONS):
        return "db_bench's reads fail on a transaction database"  # ReadRandom, 7.8.3
    return ""


def why_read_untold(metric: str, warnings: Iterable[str]) -> str:
    """Why a read was not told, of the warnings of trials; empty where none says so."""
    begins = UNTOLD.format(metric), f"{metric} is not told: "  # the latter in older results
    return next((line.partition(": ")[2] for line in warnings if line.startswith(begins)), "")
