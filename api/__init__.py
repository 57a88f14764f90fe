"""How Rocktune is reached over HTTP."""
