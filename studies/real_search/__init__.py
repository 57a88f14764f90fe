"""Strategies compared on the real db_bench, their winners measured again side by side."""
