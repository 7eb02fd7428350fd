"""Candidates come in: each becomes a submission and a suite, with the definitions it edits and the lint of its code."""

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
    """What the candidates of one instance came to."""

    submissions: tuple[Submission, ...]
    suites: tuple[Suite, ...]
    """Distinct; the golden suite first, if the instance's test patch applies."""
    edited: tuple[EditedDefinition, ...] = ()
    lint: tuple[LintFinding, ...] = ()
    """What the lint finds in the suites, the golden one included. Empty, as `edited`, where the store has it."""
    golden_refused: str = ""
    """Why the golden test patch does not apply to the base commit; empty if it does."""

    def suites_to_run(self, *, references: bool) -> tuple[SuiteId, ...]:
        """The suites of the candidates; with `references` the golden suite as well, which change coverage needs."""
        asked = {submission.suite_id for submission in self.submissions}
        return tuple(
            suite.suite_id
            for suite in self.suites
            if suite.suite_id in asked or (references and suite.kind is SuiteKind.GOLDEN)
        )


@cache
def intake_version() -> str:
    """Of the code that judges candidates and edits fixes: what another version made of them is made again."""
    return version_of("tasks.evaluate", "tasks.adapters.patch", "tasks.domain")


def take_in(
    instance: TaskInstance,
    candidates: Iterable[Candidate],
    policy: Policy,
    read_base: ReadBase,
    read: Collection[SuiteId] = (),
) -> ProcessedCandidates:
    """Judge the candidates of `instance` under `policy`; runs nothing. The code of suites in `read` was read before."""
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
