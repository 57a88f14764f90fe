"""Tables, their types and the rows of a job."""
