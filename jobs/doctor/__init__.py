"""Whether this machine is fit to measure on: readings are judged, and every finding has a mend."""
