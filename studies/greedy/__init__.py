"""Samsung's greedy tuning repeated: their four cases, their figures beside ours."""
