"""OPTIONS files of RocksDB 4.3 to 10.7."""

from cases.case import Case

CASES: tuple[Case, ...] = ()
