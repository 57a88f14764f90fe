"""The baseline of a job: runs, noise, drift and hosts that stray from it."""
