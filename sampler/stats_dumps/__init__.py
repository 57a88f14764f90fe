"""RocksDB's LOG: dumps of statistics (lines, parts, dumps, openings) and events, of any version."""
