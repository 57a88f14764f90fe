"""Compaction switched by how busy the disk is: the auto-tuner of Warlo's thesis (NTNU, 2018).

It runs above RocksDB, through SetOptions: the thesis's first design, which it gave up because the
database's background I/O could not be seen from there. Statistics and the kernel's count of what
the process wrote show it.
"""
