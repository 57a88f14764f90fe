"""Who runs what now."""
