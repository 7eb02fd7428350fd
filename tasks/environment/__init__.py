"""For each instance, what its tests find installed: from a recipe or inferred, locked as of a moment, built once.

Reads `task_instance`, data/environments and files of the checkout; writes `environment` and `environment_attempt`
and the environments' folders in the cache.
"""
