"""The candidates measured again, and the proof on fresh runs."""
