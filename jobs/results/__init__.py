"""What came of a job, and the files made of it."""
