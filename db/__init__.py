"""What is kept: the tables, their migrations, the jobs and their trials."""
