"""What proves the claims of docs/: each study runs by `make prove-NAME` and writes its page."""
