"""Trials as they are written, listed and exported."""
