"""Reads the requirements of a project from its files. No code of the project runs."""
