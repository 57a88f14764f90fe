"""How often the 95% intervals of a confirmation hold, with the real db_bench."""
