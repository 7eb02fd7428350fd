"""Candidates from files, controls and the store, checked and filtered."""
