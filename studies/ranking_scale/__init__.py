"""How well the ranking of configurations at a small scale holds at a larger one."""
