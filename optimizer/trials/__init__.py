"""What is tuned, and what was measured of it."""
