"""How work gets done: jobs from their specification to their result, on this machine."""
