"""Validate: an instance's repeated runs under varied conditions become a judgement of it and of its test cases.

Reads `task_instance`, `environment`, `suite`, `run`, `case_outcome` and what the grader says of `golden`; writes
`validation`, `case_stability`, `leak_audit` and `leak`.
"""
