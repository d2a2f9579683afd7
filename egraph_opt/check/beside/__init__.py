"""What is beside the examples of the author of a law: one family of changes a file."""
