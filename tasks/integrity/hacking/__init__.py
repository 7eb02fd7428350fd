"""Test hacking: what in a repair looks as if it were made for the tests and not for the issue, without running it.

The signs are those of Table 7 of the TDFlow paper, which three engineers looked for by hand. A detector finds, on the
syntax tree before and after; `sql/views/hack_policy.sql` says what a finding costs. That production logic was altered
to suit a test can only be read: it has no detector.
"""
