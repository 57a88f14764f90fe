"""From measured trials to knowledge: arrays in, results out; nothing here knows what is tuned."""
