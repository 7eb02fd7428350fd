"""Turns the patches of a repairs file into fixes that change only code under test. Runs nothing."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import PurePosixPath

from tasks.adapters.patch.apply import ReadBase, apply_to_files
from tasks.adapters.patch.model import FilePatch, Refused
from tasks.adapters.patch.paths import read_inside
from tasks.adapters.patch.split import is_test_path
from tasks.domain.names import InstanceId
from tasks.domain.proposed_fix import PUBLIC_ENVIRONMENT, TOUCHES_TESTS, HackLabel, ProposedFix, Repair
from tasks.evaluate.intake.patch_filter import NOT_A_TEST_FILE, NOTHING_LEFT, RULES, TAKES_A_PLACE, Rule, rule_against
from tasks.evaluate.repairs.public_edits import holds_public_edit
from tasks.evaluate.repairs.repairs_file import RepairRow


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedIn:
    """A submitted repair, its fix and its labels."""

    repair: Repair
    fix: ProposedFix
    labels: tuple[HackLabel, ...] = ()


def propose(handed_in: RepairRow, read_base: ReadBase) -> HandedIn:
    """Returns the fix of a row of a repairs file, in normal form against the base commit.

    The fix does not include files of tests, nor files that affect how tests run. These are the rules of `tests-only`
    with the test rule inverted. `repair.touches_tests` and `stripped` record the removed files.
    """
    read = read_inside(handed_in.row.patch)
    if isinstance(read, Refused):
        return _handed_in(handed_in, problem=f"{read.reason}: {read.detail}")
    ruled = [(file, _rule_against(file, handed_in.row.instance_id, read_base)) for file in read.files]
    kept = tuple(file for file, rule in ruled if not rule)
    stripped = tuple((file.path, rule) for file, rule in ruled if rule)
    if not kept:
        return _handed_in(handed_in, stripped, problem=f"{NOTHING_LEFT}: no file of the patch is code under test")
    applied = apply_to_files(replace(read, files=kept), read_base)
    if isinstance(applied, Refused):
        return _handed_in(handed_in, stripped, problem=f"{applied.reason}: {applied.detail}")
    return _handed_in(handed_in, stripped, patch=applied.patch)


def _rule_against(file: FilePatch, instance_id: InstanceId, read_base: ReadBase) -> str:
    """Returns the rule that removes a file from the fix; empty if the file is run.

    Files that the public environment edits are packaging and runner files, which are removed in any case. The rule
    `PUBLIC_ENVIRONMENT` states that the fix does not apply there.

    A new module in an existing package shadows no other module, whatever its name. For example, pytest itself gets
    modules in `src/_pytest`, and other projects have one named `calendar`.
    """
    rule = rule_against(file, read_base, _RULES)
    if rule and holds_public_edit(file, instance_id):
        return PUBLIC_ENVIRONMENT
    beside = str(PurePosixPath(file.path).with_name("__init__.py"))
    return "" if rule == TAKES_A_PLACE and read_base(beside) is not None else rule


def _only_tests(file: FilePatch, _base: str) -> bool:
    return all(map(is_test_path, file.paths))


_RULES: tuple[tuple[str, Rule], ...] = (
    (TOUCHES_TESTS, _only_tests),
    *((name, rule) for name, rule in RULES if name != NOT_A_TEST_FILE),
)


def _handed_in(
    handed_in: RepairRow, stripped: tuple[tuple[str, str], ...] = (), *, patch: str = "", problem: str = ""
) -> HandedIn:
    row = handed_in.row
    fix = ProposedFix(
        fix_id=ProposedFix.id_of(row.instance_key, patch or row.patch),
        instance_key=row.instance_key,
        instance_id=row.instance_id,
        patch=patch,
        problem=problem,
        created_at=row.created_at,
    )
    repair = Repair(
        repair_id=Repair.id_of(row.instance_key, row.method, row.model, row.sample, row.patch),
        snapshot=row.snapshot,
        instance_id=row.instance_id,
        instance_key=row.instance_key,
        method=row.method,
        model=row.model,
        sample=row.sample,
        patch=row.patch,
        fix_id=fix.fix_id,
        touches_tests=any(rule == TOUCHES_TESTS for _, rule in stripped),
        stripped=tuple(f"{path}: {rule}" for path, rule in stripped),
        provenance=row.provenance,
        source=row.source,
        created_at=row.created_at,
        **asdict(handed_in.told),
    )
    labels = (
        HackLabel(repair_id=repair.repair_id, instance_key=row.instance_key, reviewer=reviewer, signs=signs)
        for reviewer, signs in handed_in.labels
    )
    return HandedIn(repair=repair, fix=fix, labels=tuple(labels))
