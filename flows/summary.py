"""What an evaluation came to, for people and for the exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows.asking import text_table
from flows.settings import Settings
from tasks.adapters.store.database import query
from tasks.domain.names import EnvId, InstanceId, SuiteId
from tasks.evaluate.task import Ran, Taken

SAMPLE = 20
"""One in so many suites that did not succeed is repeated untraced as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSummary:
    """The printed table and what decides the exit code."""

    text: str
    rows: Sequence[Mapping[str, Any]]
    """The rows of `table2` for the snapshot."""
    problems: tuple[str, ...]
    ran: Ran
    unbuilt: tuple[InstanceId, ...]
    """Instances without an environment."""
    instances: int

    @property
    def exit_code(self) -> int:
        """0 done, 1 done with infrastructure failures left, 3 nothing could run."""
        if self.instances and len(self.unbuilt) == self.instances:
            return 3
        return 1 if self.ran.infrastructure or self.unbuilt else 0


def suites_to_confirm(database: Path, snapshot: str) -> frozenset[SuiteId]:
    """Suites of candidates that any grader calls solved, and one in `SAMPLE` of the others."""
    name = snapshot.replace("'", "''")
    answer = query(
        database,
        f"""SELECT DISTINCT submission.suite_id
            FROM verdict JOIN submission USING (candidate_id, policy)
            WHERE verdict.snapshot = '{name}' AND submission.suite_id IS NOT NULL
              AND (verdict.solved OR hash(submission.suite_id) % {SAMPLE} = 0)""",
    )
    return frozenset(SuiteId(value) for value in answer["suite_id"].to_pylist())


def summarise(
    settings: Settings, snapshot: str, taken: Taken, environments: Mapping[InstanceId, EnvId], ran: Ran
) -> EvaluationSummary:
    """The table of the snapshot, and a line on what was done for it."""
    name = snapshot.replace("'", "''")
    table = query(settings.database, f"FROM table2 WHERE snapshot = '{name}'")
    unbuilt = tuple(name for name in taken.suites if name not in environments)
    facts = (
        f"{taken.candidates} candidates, {taken.malformed} not well-formed; {ran.executed} runs, {ran.reused} reused, "
        f"{ran.infrastructure} infrastructure failures; {len(unbuilt)} instances without an environment"
    )
    return EvaluationSummary(
        text=f"{text_table(table)}\n{facts}",
        rows=table.to_pylist(),
        problems=taken.problems,
        ran=ran,
        unbuilt=unbuilt,
        instances=len(taken.suites),
    )
