"""Real jobs on a space whose options do nothing: whatever one finds is an error."""
