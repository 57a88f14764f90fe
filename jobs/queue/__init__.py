"""Queued jobs and the service around them."""
