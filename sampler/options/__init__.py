"""RocksDB's OPTIONS files: what each key of each version is."""
