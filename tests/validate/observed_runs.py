"""Runs written in a line: `before plain P F -` is one run with the cases a, b, c passed, failed and missing."""

from __future__ import annotations

from tasks.domain.names import CaseId
from tasks.domain.outcome import CodeState, Outcome, RunStatus, RunVariant, SuiteKind
from tasks.validate.judge import Observed

LETTERS = {"P": Outcome.PASSED, "F": Outcome.FAILED, "E": Outcome.ERROR, "S": Outcome.SKIPPED}


def run(line: str, status: RunStatus = RunStatus.COMPLETED) -> Observed:
    state, variant, *letters = line.split()
    outcomes = {CaseId(name): LETTERS[letter] for name, letter in zip("abc", letters, strict=False) if letter != "-"}
    return Observed(
        suite_kind=SuiteKind.GOLDEN,
        code_state=CodeState(state),
        variant=RunVariant(variant),
        status=status,
        outcomes=outcomes,
    )


def runs(text: str) -> list[Observed]:
    return [run(line) for line in text.strip().splitlines()]
