"""LOGs and db_bench outputs of RocksDB 2.x to 11.x."""

from cases.case import Case

CASES: tuple[Case, ...] = ()
