"""Checks the code that a suite adds for operations that an honest test seldom needs. Runs no code.

A rule reports findings; `sql/views/lint_policy.sql` decides their effect. Runs (placebo, paraphrase, repeats) prove
whether a test depends on text or chance instead of behaviour. A finding only shows a reader where to look, and catches
code that manipulates the runner itself.
"""
