"""Batches that begin at set times."""
