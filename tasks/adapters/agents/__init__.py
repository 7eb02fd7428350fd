"""Agents of other people as programs: how each is installed, started and kept within bounds."""
