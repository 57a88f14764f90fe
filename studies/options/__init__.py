"""Drawn configurations and random OPTIONS files, opened by the real db_bench."""
