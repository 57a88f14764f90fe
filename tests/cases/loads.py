"""db_bench command lines that people posted, as workload files."""

from cases.case import Case

CASES: tuple[Case, ...] = ()
