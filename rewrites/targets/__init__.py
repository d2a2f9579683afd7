"""What only some targets ask for."""
