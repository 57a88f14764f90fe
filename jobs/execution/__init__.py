"""A job's run: its machine or cluster, its lease, its database while that is away."""
