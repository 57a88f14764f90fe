"""Two RocksDB builds compared: what changed by itself, and what that does to the measurements."""
