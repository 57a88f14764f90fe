"""What a user asks for, checked, and resolved into a tuning problem."""
