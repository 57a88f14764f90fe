"""How often verdicts name what is not there, find what is, and keep limits rightly."""
