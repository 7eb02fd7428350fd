"""Judges candidates by execution. Reads instances, candidates and environments; writes runs, outcomes and lines.

Uses git mirrors, sandboxes and the store through the adapters. The queries in sql/graders interpret the outcomes.
"""
