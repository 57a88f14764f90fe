"""The strategies: a base class, a file each, and a registry by name."""
