"""How many runs there are, and what they can show."""
