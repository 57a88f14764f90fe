"""Whole default jobs on the real db_bench, and what they hand back, judged."""
