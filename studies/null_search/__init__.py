"""Whole jobs on a space whose options do nothing: how often they report an improvement."""
