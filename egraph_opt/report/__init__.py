"""What an optimisation found and chose: figures, text, JSON."""
