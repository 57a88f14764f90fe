"""What is known of the configurations so far: leaders, repeats and the front."""
