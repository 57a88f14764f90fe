"""Requests and answers: limits, caching, errors, exports and figures of the server."""
