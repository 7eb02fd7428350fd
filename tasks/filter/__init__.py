"""From pull requests to candidates for instances: the base commit proved, the patch split, every rule's rejections.

Reads `pull_request`, `issue`, `issue_link`; writes `pull_base`, `rejection`, `task_instance`; touches mirrors,
read-only.
"""
