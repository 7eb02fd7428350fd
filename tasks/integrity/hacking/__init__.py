"""Detects signs of test hacking: code in a repair that targets the tests instead of the issue. Runs no code.

The signs are those of Table 7 of the TDFlow paper, for which three engineers read patches by hand. Detectors compare
the syntax trees before and after. `sql/views/hack_policy.sql` decides which findings count as failed. Production logic
that is altered to satisfy a test can only be recognised by reading, so it has no detector.
"""
