"""What better means: weights, limits and their words."""
