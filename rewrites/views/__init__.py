"""Views of one tensor: Reshape, Squeeze, Unsqueeze, Flatten, Expand."""
