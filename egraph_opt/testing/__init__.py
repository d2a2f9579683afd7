"""For authors of laws: check a law's examples, draw others, prove terms equal."""
