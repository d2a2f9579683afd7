"""How a law is declared, selected, checked and tested."""
