"""RocksDB's dumps of statistics, of any version from 2.0 on: lines, parts, dumps, openings."""
