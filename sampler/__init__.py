"""From a parameter space to a measured trial: parameters, workloads, draws, db_bench."""
