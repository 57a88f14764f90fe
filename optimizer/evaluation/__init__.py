"""A job's trials beside its problem: baseline, fitness, leaders, front, host outliers."""
