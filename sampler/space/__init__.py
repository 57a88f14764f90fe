"""A parameter space: ranges, rules, draws and starting points."""
