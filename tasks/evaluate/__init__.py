"""Judges candidates by execution. Reads instances, candidates and environments; writes runs, outcomes and lines.

Touches git mirrors, sandboxes and the store, through the adapters. What the outcomes mean is in sql/graders.
"""
