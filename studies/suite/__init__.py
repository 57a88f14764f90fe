"""What the tests are worth: that chance cannot break them, and that a broken product does."""
