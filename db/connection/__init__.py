"""The database's address, engine, transactions, clock and migrations."""
