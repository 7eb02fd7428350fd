"""Run methods and store their candidates. Reads instances and environments; writes candidates, model calls and
trajectories.

Methods get a `MethodTask` and never the instance. Only briefing.py builds a task from an instance.
"""
