"""The reference paper repeated: its figures beside ours, made from the trials that were kept."""
