"""Robustness checks: decoys, lint of tests, signs of test hacking, and the reader of Python source they share."""
