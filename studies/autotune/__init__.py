"""Compaction on, lifted, off, tuned and by duty cycle, repeated and interleaved."""
