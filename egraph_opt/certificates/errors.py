"""What a certificate is refused with."""

from __future__ import annotations

from egraph_opt.errors import EgraphOptError


class CertificateError(EgraphOptError):
    """A certificate does not show what it says; the message names the first thing that differs."""
