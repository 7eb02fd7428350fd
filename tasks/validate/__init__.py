"""Judges an instance and its test cases by repeated runs under varied conditions.

Reads `task_instance`, `environment`, `suite`, `run`, `case_outcome` and the grader's verdict on `golden`. Writes
`validation`, `case_stability`, `leak_audit` and `leak`.
"""
