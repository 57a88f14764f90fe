"""How Rocktune is reached from a terminal: thin commands over what the service uses too."""
