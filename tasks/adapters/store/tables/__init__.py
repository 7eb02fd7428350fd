"""Rows of the store: writing, reading, the latest of each key."""
