"""Proposed fixes: read, filtered, run and reported."""
