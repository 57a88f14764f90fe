"""Every RocksDB build of this machine, tried."""
