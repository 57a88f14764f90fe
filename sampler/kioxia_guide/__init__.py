"""KIOXIA's tuning guide for TRocksDB, worked out: from a database's size to its options.

Source: T. Nelson and S. Harlin, Optimizing TRocksDB for Improved Performance, KIOXIA America.
The guide's megabytes are 10**6 bytes, and so are those here.
"""
