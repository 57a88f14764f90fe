"""What routes and pages do."""
