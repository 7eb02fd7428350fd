"""Whole functions and classes as a model names them → changed files. Reads replies and text; writes nothing."""
