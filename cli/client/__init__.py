"""The service at the other end, its requests, answers and refusals."""
