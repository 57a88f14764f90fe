"""How often the 95% intervals of an explanation hold, where the truth is known."""
