"""The host: its processors, memory, disk, load and processes, read from the kernel."""
