"""Profiles: what a database of the user's does, as its LOG, OPTIONS, tables and traces tell."""
