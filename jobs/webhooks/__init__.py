"""Webhooks: what they are told, and how it gets there."""
