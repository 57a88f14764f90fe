"""How heavy the dashboard's pages are, and how soon they are seen, by the trials of a job."""
