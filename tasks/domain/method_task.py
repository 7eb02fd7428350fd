"""What a generation method may see of an instance. There is nothing golden in it, so it can be shown whole."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.domain.names import InstanceKey, RepoName, RepoPath, Sha
from tasks.domain.outcome import RunnerKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleTest:
    """One test file of the base commit, chosen without a look at the golden tests: how tests are written there."""

    path: RepoPath
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodTask:
    """One issue and the code that it was reported against.

    It has no `instance_id`, because that ends in the number of the pull request. Rows join on `instance_key`.
    """

    instance_key: InstanceKey
    """A hash: names the instance and tells nothing about it."""
    repo: RepoName
    base_commit: Sha
    version: str | None
    """The repository's version at `base_commit`, as the recipes count it."""
    problem_statement: str
    """The issue's title and text, with every pointer to the fix redacted."""
    python: str
    """Minor version of the interpreter that runs the tests, `3.9`."""
    runner: RunnerKind
    test_command: tuple[str, ...]
    """argv that runs test files from the root of the checkout; their paths (`test_targets`) are appended."""
    test_targets: str
    """How `test_command` names a test file: `path` (`tests/a/test_b.py`) or `module` (`a.test_b`)."""
    test_globs: tuple[str, ...]
    """Which files a candidate may add or edit; everything else is taken out of it."""
    example: ExampleTest | None
    """Null where the base commit has no test file."""
