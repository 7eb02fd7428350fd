"""Determines and builds the environment of each instance: from a recipe or inferred, locked as of a date, built once.

Reads `task_instance`, data/environments and files of the checkout. Writes `environment`, `environment_attempt` and the
environments' folders in the cache.
"""
