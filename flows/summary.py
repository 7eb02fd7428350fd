"""What an evaluation came to, for people and for the exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from flows.asking import text_table
from flows.fan_out import Failed, Unit
from flows.settings import Settings
from tasks.adapters.store.latest import literal
from tasks.adapters.store.loaded import answers
from tasks.adapters.store.quarantine import Problem
from tasks.domain.names import EnvId, InstanceId, SuiteId
from tasks.evaluate.task import Ran, Taken

SAMPLE = 20
"""One in so many suites that did not succeed is repeated untraced as well."""

INSTANCE = 3
"""Place of the instance id in a unit of runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSummary:
    """The printed table and what decides the exit code."""

    text: str
    """The rows as a table, and the facts."""
    facts: str
    """One line on what was done."""
    rows: Sequence[Mapping[str, Any]]
    """The rows of `table2` for the snapshot."""
    problems: tuple[str, ...]
    """One line each: what could not be taken, prepared or run, and why."""
    ran: Ran
    environments: Mapping[InstanceId, EnvId]
    """Of the instances that have one."""
    troubled: Mapping[InstanceId, str]
    """Instances whose environment failed for reasons of ours, and why."""
    exit_code: int
    """0 done, 1 done with failures of ours left, 3 nothing could run."""


@dataclass(slots=True)
class Tally:
    """Counts what a flow does while it does it."""

    taken: Taken
    torn: tuple[Problem, ...] = ()
    """Files of the store that could not be read and were moved aside; what they held is run again."""
    total: Ran = field(default_factory=Ran)
    unprepared: list[str] = field(default_factory=list)
    """One line for each instance without an environment."""
    broken: list[str] = field(default_factory=list)
    """One line for each unit of runs that failed as a whole."""
    ready: dict[InstanceId, EnvId] = field(default_factory=dict)
    """The environments that are there."""
    troubled: dict[InstanceId, str] = field(default_factory=dict)
    """Instances whose environment failed for reasons of ours, and why."""

    def environments(
        self, names: Sequence[InstanceId], prepared: Sequence[EnvId | Failed | None], why: Mapping[InstanceId, str]
    ) -> None:
        """Remember the environments that are there, and the instances without one: `why` has their reasons."""
        for name, result in zip(names, prepared, strict=True):
            if isinstance(result, Failed):
                self.unprepared.append(f"{name}: {result.error}")
                self.troubled[name] = str(result.error)
            elif result is None:
                self.unprepared.append(f"{name}: no environment is ready: {why.get(name, '')}")
            else:
                self.ready[name] = result

    def ran(self, units: Sequence[Unit], results: Sequence[Ran | Failed]) -> None:
        """Add what units of runs did."""
        for unit, result in zip(units, results, strict=True):
            if isinstance(result, Failed):
                self.broken.append(f"{unit[INSTANCE]}: {result.error}")
            else:
                self.total += result

    @property
    def facts(self) -> str:
        return (
            f"{self.taken.candidates} candidates, {self.taken.malformed} not well-formed; {self.total.executed} runs, "
            f"{self.total.reused} reused, {self.total.infrastructure + len(self.broken)} infrastructure failures; "
            f"{len(self.unprepared) + self.taken.unreadable} instances that could not be prepared"
        )

    @property
    def exit_code(self) -> int:
        failures = len(self.unprepared) + self.taken.unreadable
        if failures and failures == len(self.taken.suites) + self.taken.unreadable:
            return 3
        return 1 if failures or self.broken or self.total.infrastructure else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What graders and guards say of a snapshot, as its runs stand."""

    to_guard: frozenset[SuiteId]
    """Suites of candidates that any grader calls solved."""
    to_confirm: frozenset[SuiteId]
    """Would-be successes that untraced repeats do not speak for, and one in `SAMPLE` of the other suites.

    A guard's repeat that behaves as the traced run shows that tracing changed nothing; where it does not, or was not
    made, the plain run without tracing tells whose doing that is.
    """
    table: pa.Table
    """The rows of `table2`."""


UNCONFIRMED = f"""CASE
    WHEN NOT coalesce(verdict.solved, false) THEN hash(submission.suite_id) % {SAMPLE} = 0
    ELSE NOT EXISTS (
        FROM guard_outcome AS g
        WHERE g.snapshot = verdict.snapshot AND g.candidate_id = verdict.candidate_id
            AND g.policy = verdict.policy AND g.grader = verdict.grader
            AND g.guard = 'repeat' AND g.result = 'passed')
END"""
"""Which verdicts have suites to confirm, as SQL."""


def standing(settings: Settings, snapshot: str) -> Standing:
    """Ask the store as it is now."""
    names = ("verdict", "submission", "guard_outcome", "table2")
    to_guard, to_confirm, table = answers(
        settings.store,
        settings.sql,
        names,
        (
            _suites(snapshot, "verdict.solved"),
            _suites(snapshot, UNCONFIRMED),
            f"FROM table2 WHERE snapshot = {literal(snapshot)}",
        ),
    )
    return Standing(to_guard=_ids(to_guard), to_confirm=_ids(to_confirm), table=table)


def _suites(snapshot: str, condition: str) -> str:
    """The suites of the snapshot's submissions with a verdict for which `condition` holds, as SQL."""
    return f"""SELECT DISTINCT submission.suite_id
        FROM verdict JOIN submission USING (candidate_id, policy)
        WHERE submission.suite_id IS NOT NULL AND verdict.snapshot = {literal(snapshot)} AND {condition}"""


def _ids(answer: pa.Table) -> frozenset[SuiteId]:
    return frozenset(SuiteId(value) for value in answer["suite_id"].to_pylist())


def summarise(table: pa.Table, work: Tally) -> EvaluationSummary:
    """The table of the snapshot, and a line on what was done for it."""
    return EvaluationSummary(
        text=f"{text_table(table)}\n{work.facts}",
        facts=work.facts,
        rows=table.to_pylist(),
        problems=(*map(str, work.torn), *work.taken.problems, *work.unprepared, *work.broken, *work.total.problems),
        ran=work.total,
        environments=dict(work.ready),
        troubled=dict(work.troubled),
        exit_code=work.exit_code,
    )
