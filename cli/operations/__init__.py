"""Commands for a service, a cluster and its nights."""
