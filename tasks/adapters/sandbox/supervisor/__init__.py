"""The process that watches one job from outside: starts it, measures it, ends it.

Standard library only, one thread, and quick to import: no dataclasses, no pathlib.
"""
