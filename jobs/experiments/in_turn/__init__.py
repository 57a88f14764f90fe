"""Runs of several sides next to each other, so that a machine's drift strikes all alike."""
