"""Localize: which files an issue is about. Reads instances and base commits; writes localization rows."""
