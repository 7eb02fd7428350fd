"""Interpreters, locks and built environments, created with uv: writes below one folder, uses a package registry."""
