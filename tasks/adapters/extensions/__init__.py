"""Extension modules of compiled projects: built in a sandbox, kept by content, laid into checkouts.

Reads checkouts and tool environments; writes below one folder of the cache.
"""
