"""Configurations and builds measured side by side, for comparisons, upgrades, explanations."""
