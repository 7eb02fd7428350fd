"""Reads, filters, runs and reports proposed fixes."""
