"""What changed from night to night."""
