"""A job's conclusion, and the document of result.json."""
