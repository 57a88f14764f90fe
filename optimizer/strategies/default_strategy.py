"""The strategy that searches where none is named."""

DEFAULT_STRATEGY = "forest"
