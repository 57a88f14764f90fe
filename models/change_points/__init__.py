"""Where a series changes, and how sure that is."""
