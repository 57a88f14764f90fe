"""One trial at a time: lock, folder, process, outcome, and nothing left behind."""
