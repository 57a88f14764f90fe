"""What a copy of a prepared database saves, and whether runs on copies scatter less."""
