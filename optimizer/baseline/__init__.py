"""The baseline of a job, on each host: its runs, noise and drift."""
