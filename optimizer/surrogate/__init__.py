"""Models of the metrics, what they expect, and what they take from earlier jobs."""
