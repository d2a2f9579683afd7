"""What is known of a value: its type, symbolic dims, small elements and ranges."""
