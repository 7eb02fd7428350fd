"""Plays the world's part in tests, the demo and development: a local GitHub, a scripted provider and model, toy tasks.

Flows, tests and benchmarks use it; no stage does.
"""
