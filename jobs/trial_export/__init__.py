"""Trials as CSV, JSON lines and Parquet."""
