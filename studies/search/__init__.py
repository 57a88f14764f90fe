"""Strategies compared on test functions that were learned from recorded trials."""
