"""A job's conclusion as the document of result.json."""
