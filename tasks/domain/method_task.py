"""The facts about an instance that a generation method may see. They contain nothing golden and can be shown whole."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.domain.names import InstanceKey, RepoName, RepoPath, Sha
from tasks.domain.outcome import RunnerKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleTest:
    """One test file of the base commit as an example, chosen independently of the golden tests."""

    path: RepoPath
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodTask:
    """One issue and the code for which it was reported.

    It has no `instance_id`, because that ends with the number of the pull request. Rows join on `instance_key`.
    """

    instance_key: InstanceKey
    """A hash: it identifies the instance and reveals nothing about it."""
    repo: RepoName
    base_commit: Sha
    version: str | None
    """The repository's version at `base_commit`, in the recipes' notation."""
    problem_statement: str
    """The issue's title and text, with every pointer to the fix redacted."""
    python: str
    """Minor version of the interpreter that runs the tests, `3.9`."""
    runner: RunnerKind
    test_command: tuple[str, ...]
    """Argument list that runs test files from the root of the checkout; their paths (`test_targets`) are appended."""
    test_targets: str
    """Notation of a test file in `test_command`: `path` (`tests/a/test_b.py`) or `module` (`a.test_b`)."""
    test_globs: tuple[str, ...]
    """Files that a candidate may add or edit; the patch filter removes all others."""
    example: ExampleTest | None
    """Null if the base commit has no test file."""
