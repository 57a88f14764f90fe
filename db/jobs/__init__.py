"""Jobs as they are stored, listed, queued and restored."""
