"""Decides which part of a candidate is executed (metrics.md: candidate policy). Does no I/O: a callable returns the
base files.

The patch filter parses the patch, removes files by its rules, and applies the rest to the base files in memory. The
changes in normal form are the suite. Equal changes are one suite, whatever their author and their notation.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from tasks.adapters.patch.apply import Applied, ReadBase, apply_stored, apply_to_files
from tasks.adapters.patch.model import LINK_MODE, FilePatch, Patch, Reason, Refused, Status
from tasks.adapters.patch.paths import kind_problem, read_inside
from tasks.adapters.patch.read import BINARY_PATCH, to_bytes, to_text
from tasks.adapters.patch.runnable import files_that_run
from tasks.adapters.patch.split import Kind, kind_of
from tasks.domain.candidate import Candidate, Submission, Suite
from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceId, InstanceKey
from tasks.domain.outcome import Policy, SuiteKind
from tasks.domain.run import files_key
from tasks.evaluate.intake.shared_fixtures import only_shares_fixtures

NOTHING_LEFT = "nothing-left"
NO_TEST_FILE = "no-test-file"
NOT_A_TEST_FILE = "not-a-test-file"
TAKES_A_PLACE = "takes-a-place"
_CONFTEST = "conftest"
_RUNNER_FILES = {
    *("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "tox.toml", "setup.cfg", "pyproject.toml"),
    *(".coveragerc", "noxfile.py", "nose.cfg", "unittest.cfg", "runtests.py", "runner.py"),
}
_PACKAGING = re.compile(
    r"setup\.py|requirements.*\.(txt|in)|(.*\.)?pth|(site|user)customize\.py|MANIFEST\.in|Pipfile(\.lock)?"
    r"|environment\.ya?ml|.*\.lock|.*\.(so|pyd|dll|dylib|pyc|pyo|whl|egg|egg-link)|entry_points\.txt"
)
_METADATA = re.compile(r".*\.(dist-info|egg-info|egg)|__pycache__", re.IGNORECASE)
_RUNNERS = re.compile(r"pytest|_pytest|pluggy|unittest|nose|coverage|swt_\w+")
_SETTINGS = re.compile(r"^DATABASES\s*=", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionDecision:
    """A submission and its suite; the suite is None if the candidate is not well-formed."""

    submission: Submission
    suite: Suite | None


def golden_suite(instance: TaskInstance, read_base: ReadBase) -> Suite | Refused:
    """Returns the instance's own tests as a suite: the whole test patch, unfiltered."""
    applied = apply_stored(instance.test_patch, read_base)
    if isinstance(applied, Refused):
        return applied
    return _suite(instance.instance_key, instance.instance_id, applied, SuiteKind.GOLDEN)


def submit(candidate: Candidate, golden: Suite | None, policy: Policy, read_base: ReadBase) -> SubmissionDecision:
    """Decides whether a candidate is well-formed under `policy`, and which suite is run.

    A candidate whose whole patch makes the same changes as `golden` gets the golden suite under every policy.
    """
    read = read_inside(candidate.patch)
    if isinstance(read, Refused):
        return _malformed(candidate, policy, read.reason, read.detail)
    if golden is not None and (ruling := _as_golden(candidate, golden, policy, read, read_base)):
        return ruling
    kept, stripped = strip(read, policy, read_base)
    if not kept.files:
        return _malformed(candidate, policy, NOTHING_LEFT, "the policy took every file out", stripped)
    applied = apply_to_files(kept, read_base)
    if isinstance(applied, Refused):
        return _malformed(candidate, policy, applied.reason, applied.detail, stripped)
    suite = _suite(candidate.instance_key, candidate.instance_id, applied, SuiteKind.CANDIDATE)
    if not suite.files:
        return _malformed(candidate, policy, NO_TEST_FILE, "no file of the patch holds tests", stripped)
    return SubmissionDecision(submission=_accepted(candidate, policy, suite, applied, stripped), suite=suite)


def strip(patch: Patch, policy: Policy, read_base: ReadBase) -> tuple[Patch, tuple[str, ...]]:
    """Returns the patch without the files that the patch filter removes, and `path: rule` for every removed file."""
    if policy is Policy.AS_SUBMITTED:
        return patch, ()
    pieces = Counter(file.path for file in patch.files)
    verdicts = [
        (file, rule_against(file, read_base) or (_CONFTEST if pieces[file.path] > 1 and _is_conftest(file) else ""))
        for file in patch.files
    ]
    kept = tuple(file for file, rule in verdicts if not rule)
    return replace(patch, files=kept), tuple(f"{file.path}: {rule}" for file, rule in verdicts if rule)


Rule = Callable[[FilePatch, str], bool]
"""Whether to remove a file, given its patch and its text at the base commit (empty if it does not exist there)."""


def _link(file: FilePatch, _base: str) -> bool:
    return kind_problem(file) is Reason.LINK


def _binary(file: FilePatch, _base: str) -> bool:
    return kind_problem(file) is Reason.BINARY


def _is_conftest(file: FilePatch) -> bool:
    return any(PurePosixPath(path).name.lower() == "conftest.py" for path in file.paths)


def _conftest(file: FilePatch, base: str) -> bool:
    """Whether the patch changes a `conftest.py` beyond adding fixtures and helpers."""
    if not _is_conftest(file):
        return False
    if file.status not in (Status.ADDED, Status.MODIFIED):
        return True
    applied = apply_to_files(Patch(files=(file,)), lambda _path: to_bytes(base) if base else None)
    if isinstance(applied, Refused) or len(applied.changes) != 1:
        return True
    return not only_shares_fixtures(base, applied.changes[0].after or "")


def _runner_configuration(file: FilePatch, base: str) -> bool:
    """By name; also Django's settings for its own tests, whose file is named like a test module."""
    names = {PurePosixPath(path).name.lower() for path in file.paths}
    return bool(names & _RUNNER_FILES) or ("test_sqlite.py" in names and _SETTINGS.search(base) is not None)


def _packaging(file: FilePatch, _base: str) -> bool:
    """By name, or because the file is in the metadata of a distribution or among compiled files."""
    parts = [PurePosixPath(path).parts for path in file.paths]
    named = any(_PACKAGING.fullmatch(path[-1]) for path in parts)
    return named or any(_METADATA.fullmatch(folder) for path in parts for folder in path[:-1])


def _takes_a_place(file: FilePatch, _base: str) -> bool:
    """Whether a new module would be imported instead of a module of a test runner or of the standard library."""
    if file.status is not Status.ADDED or kind_of(file.path) is Kind.MODULE:
        return False
    *folders, name = PurePosixPath(file.path).parts
    stem = name.removesuffix(".py")
    runners = [part for part in (*folders, stem) if _RUNNERS.fullmatch(part)]
    return bool(runners) or (name.endswith(".py") and stem in sys.stdlib_module_names)


def _not_a_test_file(file: FilePatch, _base: str) -> bool:
    return any(kind_of(path) is Kind.SOURCE or _library_for_tests(path) for path in file.paths)


def _library_for_tests(path: str) -> bool:
    """Whether the file is library code for testing but no test: django/test/client.py, sympy/testing/runtests.py."""
    folders = PurePosixPath(path).parts[:-1]
    return kind_of(path) in (Kind.HELPER, Kind.DATA) and "tests" not in folders and folders[0] not in _TOP_FOLDERS


_TOP_FOLDERS = ("test", "testing", "e2e")

RULES: tuple[tuple[str, Rule], ...] = (
    ("link", _link),
    ("binary", _binary),
    (_CONFTEST, _conftest),
    ("runner-configuration", _runner_configuration),
    ("packaging", _packaging),
    (TAKES_A_PLACE, _takes_a_place),
    (NOT_A_TEST_FILE, _not_a_test_file),
)
"""The rules of `tests-only`; the first rule that matches a file removes it."""


def rule_against(file: FilePatch, read_base: ReadBase, rules: Iterable[tuple[str, Rule]] = RULES) -> str:
    """Returns the name of the first rule that removes a file; empty if none does."""
    base = to_text(read_base(file.paths[0]) or b"")
    return next((name for name, rule in rules if rule(file, base)), "")


def _suite(instance_key: str, instance_id: str, applied: Applied, kind: SuiteKind) -> Suite:
    files = files_that_run(applied.changes, helpers=kind is SuiteKind.GOLDEN)
    existing = {change.path for change in applied.changes if change.before is not None}
    base_files = tuple(path for path in files if path in existing)
    return Suite(
        suite_id=Suite.id_of(instance_key, applied.patch),
        instance_key=InstanceKey(instance_key),
        instance_id=InstanceId(instance_id),
        kind=kind,
        patch=applied.patch,
        files=files,
        files_key=files_key(files),
        base_files=base_files,
        base_files_key=files_key(base_files),
    )


def _as_golden(
    candidate: Candidate, golden: Suite, policy: Policy, read: Patch, read_base: ReadBase
) -> SubmissionDecision | None:
    """Returns the golden suite if the candidate makes exactly the same changes."""
    applied = apply_to_files(read, read_base, stored=any(mark in golden.patch for mark in (BINARY_PATCH, LINK_MODE)))
    if isinstance(applied, Refused) or applied.patch != golden.patch:
        return None
    return SubmissionDecision(submission=_accepted(candidate, policy, golden, applied, ()), suite=golden)


def _accepted(
    candidate: Candidate, policy: Policy, suite: Suite, applied: Applied, stripped: tuple[str, ...]
) -> Submission:
    return Submission(
        candidate_id=candidate.candidate_id,
        instance_key=candidate.instance_key,
        instance_id=candidate.instance_id,
        policy=policy,
        suite_id=suite.suite_id,
        well_formed=True,
        reason="",
        detail="; ".join(applied.notes),
        rung=applied.rung.value,
        stripped=stripped,
    )


def _malformed(
    candidate: Candidate, policy: Policy, reason: str, detail: str, stripped: tuple[str, ...] = ()
) -> SubmissionDecision:
    submission = Submission(
        candidate_id=candidate.candidate_id,
        instance_key=candidate.instance_key,
        instance_id=candidate.instance_id,
        policy=policy,
        suite_id=None,
        well_formed=False,
        reason=str(reason),
        detail=detail,
        rung="",
        stripped=stripped,
    )
    return SubmissionDecision(submission=submission, suite=None)
