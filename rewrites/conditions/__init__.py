"""Side conditions that laws of several families share; no laws here."""
