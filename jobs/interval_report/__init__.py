"""What `rocktune stats` makes of RocksDB's dumps: table, summary, plots, pgfplots coordinates."""
