"""Requests, settings and the command line."""
