"""Tokens and sessions."""
