"""Where task instances come from: other people's data sets and the bundled demo.

Reads SWE-bench files and recorded git histories, gives rows of `task_instance` and `snapshot`, touches git.
"""
