"""Repair: failing tests in, fixes out."""
