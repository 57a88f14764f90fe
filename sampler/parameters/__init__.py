"""A tunable and the catalogue of all of them."""
