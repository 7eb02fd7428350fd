"""Sandboxes for untrusted code: one protocol, one conformance suite, one class per kind of isolation."""
