"""Many jobs, one after another."""
