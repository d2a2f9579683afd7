"""How a law is declared, selected, compiled and tested."""
