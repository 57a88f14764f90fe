"""What changed from night to night, or from job to job of a host, and what else did then."""
