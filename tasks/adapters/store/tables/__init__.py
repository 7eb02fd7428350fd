"""Reads and writes the rows of the store, and selects the latest row of each key."""
