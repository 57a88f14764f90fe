"""What each parameter matters: forests, analysis of variance, stability."""
