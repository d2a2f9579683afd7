"""Files that mean harm, and damaged ones: what the command line makes of them."""
