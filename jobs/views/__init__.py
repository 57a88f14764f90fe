"""What pages and the terminal show of a job, live and finished."""
