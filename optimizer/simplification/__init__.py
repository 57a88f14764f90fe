"""Fewer changes: what a configuration changes, and which of it is worth keeping."""
