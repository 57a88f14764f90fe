"""Which parameters matter, and which way is better."""
