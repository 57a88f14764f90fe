"""What `rocktune stats` makes of RocksDB's dumps: tables, plots, answers, files."""
