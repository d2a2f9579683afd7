"""The project with one thing wrong at a time: each of them has to be noticed by a test.  See `declared`."""
