"""Robustness checks: decoys, lint of tests, signs of test hacking, and the parser of Python files that they share."""
