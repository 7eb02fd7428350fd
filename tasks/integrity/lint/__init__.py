"""Looks at the code that a suite adds, without running it: where an honest test has little reason to look.

A rule finds, `sql/views/lint_policy.sql` says what a finding costs. The proof that a test reads text or chance instead
of behaviour is in the runs (placebo, paraphrase, repeats); a finding here says where to look, and catches what acts
on the runner itself.
"""
