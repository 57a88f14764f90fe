"""What `rocktune profile --check` measures: a load of a profile beside its database."""
