"""How certificates are made: what was recorded is followed again, and what the result rests on is kept."""
