"""Jobs whose trials are measured by a runner of the user's own."""
