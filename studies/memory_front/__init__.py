"""What more memory buys: the same search under 1, 2, 4 and 8 times the default's memory."""
