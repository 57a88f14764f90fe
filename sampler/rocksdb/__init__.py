"""RocksDB itself: its parameters, OPTIONS files and LOG, of every version."""
