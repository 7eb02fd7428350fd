"""Flows: which stage functions run on which units, in which order, and how many units run at once."""
