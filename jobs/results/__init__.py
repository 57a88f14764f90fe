"""What came of a job, and what its pages, tables and files are made with."""
