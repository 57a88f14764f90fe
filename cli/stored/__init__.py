"""Commands about stored jobs, here or at a service."""
