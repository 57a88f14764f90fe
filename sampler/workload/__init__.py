"""A load: its file, its benchmarks of db_bench, the keys that it leaves."""
