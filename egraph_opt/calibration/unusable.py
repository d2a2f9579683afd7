"""What is thrown where a row of a profile cannot be compared with a price."""

from __future__ import annotations


class UnusableError(Exception):
    """A kernel that no price can be found for; the message says why."""
