"""Reads, checks and filters candidates from files, controls and the store."""
