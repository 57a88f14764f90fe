"""What changed from night to night, and whether that is a regression."""
