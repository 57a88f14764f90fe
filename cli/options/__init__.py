"""Options that several commands share, exits and signals."""
