"""Fixtures of the model layer's tests; what they are made of is in llm_bench.py."""

from llm_bench import bench

__all__ = ["bench"]
