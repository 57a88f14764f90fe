"""How many draws are enough to know what matters."""
