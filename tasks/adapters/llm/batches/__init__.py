"""Calls of methods that ask once, made in batches: half the price, within a day. `desk.py` is where one asks."""
