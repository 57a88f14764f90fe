"""RocksDB's LOG, of any version: dumps of statistics (lines, parts, openings) and events."""
