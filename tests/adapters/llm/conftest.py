"""Fixtures of the model layer's tests; what they are made of is in llm_bench.py and coordination_bench.py."""

from coordination_bench import backend
from llm_bench import bench

__all__ = ["backend", "bench"]
