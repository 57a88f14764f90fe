"""What more hosts give."""
