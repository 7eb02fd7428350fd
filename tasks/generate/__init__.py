"""Asks methods for candidates. Reads instances and environments; writes candidates, model calls and trajectories.

Methods get a `MethodTask` and never the instance: briefing.py is the one place that turns the one into the other.
"""
