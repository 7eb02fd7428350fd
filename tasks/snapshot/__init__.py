"""Snapshot: validated instances become an immutable snapshot with a manifest and a difference to the one before.

Reads `task_instance`, `validation`, `case_stability`, `environment`, `snapshot` and mirrors; writes `task_instance`,
`snapshot`, `snapshot_change`, `instance_fact` and a manifest file.
"""
