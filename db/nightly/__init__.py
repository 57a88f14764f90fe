"""Batches, schedules and what their nights came to."""
