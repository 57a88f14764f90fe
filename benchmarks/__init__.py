"""What Rocktune costs, measured: each module here runs with `python -m` and prints a table."""
