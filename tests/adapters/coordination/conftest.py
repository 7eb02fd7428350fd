"""Fixtures of coordination; what they are made of is in tests/shared/coordination_bench.py."""

from coordination_bench import backend

__all__ = ["backend"]
