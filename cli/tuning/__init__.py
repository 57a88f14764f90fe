"""Commands that measure or read on this machine."""
