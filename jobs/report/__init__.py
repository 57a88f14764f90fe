"""The report page of a job."""
