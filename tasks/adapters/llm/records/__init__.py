"""Requests, cached replies and the rows of model calls."""
