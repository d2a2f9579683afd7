"""Whether what was rewritten answers as the term does."""
