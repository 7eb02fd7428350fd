"""Proposed fixes: the patches of a repairs file become changes of the code under test alone. Runs nothing."""

from __future__ import annotations

from dataclasses import replace

from tasks.adapters.patch.apply import ReadBase, apply_to_files
from tasks.adapters.patch.model import FilePatch, Refused
from tasks.adapters.patch.split import is_test_path
from tasks.domain.candidate import Candidate
from tasks.domain.proposed_fix import ProposedFix
from tasks.evaluate.policy import NOT_A_TEST_FILE, NOTHING_LEFT, RULES, Rule, read_inside, rule_against


def propose(handed_in: Candidate, read_base: ReadBase) -> ProposedFix:
    """The fix that a row of a repairs file holds, in normal form against the base commit.

    Test files are taken out, and what would decide how tests are run: the rules of the policy `tests-only`, the other
    way round.
    """
    read = read_inside(handed_in.patch)
    if isinstance(read, Refused):
        return _fix(handed_in, problem=f"{read.reason}: {read.detail}")
    ruled = [(file, rule_against(file, read_base, _RULES)) for file in read.files]
    kept = tuple(file for file, rule in ruled if not rule)
    stripped = tuple(f"{file.path}: {rule}" for file, rule in ruled if rule)
    if not kept:
        return _fix(handed_in, stripped=stripped, problem=f"{NOTHING_LEFT}: no file of the patch is code under test")
    applied = apply_to_files(replace(read, files=kept), read_base)
    if isinstance(applied, Refused):
        return _fix(handed_in, stripped=stripped, problem=f"{applied.reason}: {applied.detail}")
    return _fix(handed_in, patch=applied.patch, stripped=stripped)


def _only_tests(file: FilePatch, _base: str) -> bool:
    return all(map(is_test_path, file.paths))


_RULES: tuple[tuple[str, Rule], ...] = (
    ("test-file", _only_tests),
    *((name, rule) for name, rule in RULES if name != NOT_A_TEST_FILE),
)


def _fix(handed_in: Candidate, *, patch: str = "", stripped: tuple[str, ...] = (), problem: str = "") -> ProposedFix:
    return ProposedFix(
        fix_id=ProposedFix.id_of(handed_in.instance_key, patch or handed_in.patch),
        instance_key=handed_in.instance_key,
        instance_id=handed_in.instance_id,
        method=handed_in.method,
        source=handed_in.source,
        patch=patch,
        stripped=stripped,
        problem=problem,
        created_at=handed_in.created_at,
    )
