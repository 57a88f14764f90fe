"""A tuning run from beginning to end, over one host or many."""
