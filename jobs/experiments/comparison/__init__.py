"""Two or three configurations, builds or engines, measured in turn and compared."""
