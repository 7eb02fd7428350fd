"""Interpreters, locks and built environments, by way of uv: writes below one folder, asks a package registry."""
