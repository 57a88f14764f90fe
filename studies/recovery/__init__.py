"""Whether a profile tells what a database does, and whether its load behaves like it."""
