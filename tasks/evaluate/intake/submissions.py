"""Turns candidates into submissions and suites, with the definitions that each suite edits and its lint findings."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache

from tasks.adapters.patch.apply import ReadBase
from tasks.adapters.patch.model import Refused
from tasks.adapters.store.files.provenance import version_of
from tasks.domain.candidate import Candidate, EditedDefinition, Submission, Suite
from tasks.domain.guards import LintFinding
from tasks.domain.instance import TaskInstance
from tasks.domain.names import SuiteId
from tasks.domain.outcome import Policy, SuiteKind
from tasks.evaluate.intake.patch_filter import golden_suite, submit
from tasks.evaluate.runs.edited_definitions import edited_rows
from tasks.integrity.lint.rules import lint_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessedCandidates:
    """The processed candidates of one instance."""

    submissions: tuple[Submission, ...]
    suites: tuple[Suite, ...]
    """Distinct; the golden suite first, if the instance's test patch applies."""
    edited: tuple[EditedDefinition, ...] = ()
    lint: tuple[LintFinding, ...] = ()
    """Lint findings in the suites, the golden one included. Empty, like `edited`, for suites that are already
    stored."""
    golden_refused: str = ""
    """Why the golden test patch does not apply to the base commit; empty if it does."""

    def suites_to_run(self, *, references: bool) -> tuple[SuiteId, ...]:
        """Returns the suites of the candidates; with `references` also the golden suite, which change coverage
        needs."""
        asked = {submission.suite_id for submission in self.submissions}
        return tuple(
            suite.suite_id
            for suite in self.suites
            if suite.suite_id in asked or (references and suite.kind is SuiteKind.GOLDEN)
        )


@cache
def intake_version() -> str:
    """Returns the version of the code that judges candidates and edits fixes. Rows of another version are
    recomputed."""
    return version_of("tasks.evaluate", "tasks.adapters.patch", "tasks.domain")


def take_in(
    instance: TaskInstance,
    candidates: Iterable[Candidate],
    policy: Policy,
    read_base: ReadBase,
    read: Collection[SuiteId] = (),
) -> ProcessedCandidates:
    """Judges the candidates of `instance` under `policy`. Runs nothing. Skips reading the code of suites in `read`."""
    golden = golden_suite(instance, read_base)
    reference = None if isinstance(golden, Refused) else golden
    rulings = [submit(candidate, reference, policy, read_base) for candidate in candidates]
    found = ([reference] if reference else []) + [ruling.suite for ruling in rulings if ruling.suite]
    suites = tuple({suite.suite_id: suite for suite in found}.values())
    unread = [suite for suite in suites if suite.suite_id not in read]
    return ProcessedCandidates(
        submissions=tuple(ruling.submission for ruling in rulings),
        suites=suites,
        edited=tuple(row for suite in unread for row in edited_rows(suite, read_base)),
        lint=tuple(row for suite in unread for row in lint_rows(suite, read_base)),
        golden_refused=f"{golden.reason}: {golden.detail}" if isinstance(golden, Refused) else "",
    )
