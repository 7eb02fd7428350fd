"""The runs that judge a suite: planned, executed, stored."""
