"""One trial at a time on this machine: db_bench, its builds, command lines, outputs, metrics."""
