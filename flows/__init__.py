"""The story: which stage runs for which rows, in which order, and how many at once."""
