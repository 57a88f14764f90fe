"""Services and clusters that are killed, cut off and filled up, and what was lost."""
