"""What both sides of a law are run on."""
