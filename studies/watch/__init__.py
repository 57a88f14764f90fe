"""Simulated nights: what the regression watch sees, and how often it is wrong."""
