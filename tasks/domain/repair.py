"""Test-driven repair: what its sub-agents did, and the patches that came of it (the TDFlow paper, section 3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.domain.errors import UsageError
from tasks.domain.names import (
    CaseId,
    EnvId,
    InstanceId,
    InstanceKey,
    MethodName,
    ModelName,
    SnapshotName,
    is_word,
)
from tasks.domain.outcome import RunStatus
from tasks.domain.table import table


class SubAgent(StrEnum):
    """Who worked on a step."""

    GENERATE_TESTS = "generate-tests"
    """Writes tests that reproduce the issue, where nobody hands some in."""
    EXPLORE_FILES = "explore-files"
    """Reads the repository as it was, and proposes a patch against it."""
    REVISE_PATCH = "revise-patch"
    """Mends what keeps a patch from being applied."""
    DEBUG_ONE = "debug-one"
    """Finds out with a debugger why one test fails on a patch, and reports it."""
    AGENT = "agent"
    """No part of TDFlow: an agent of other people that does all of it."""


Roles = tuple[tuple[str, str], ...]
"""Sub-agent, as a parameter spells it (`debug_one`), and its model, sorted."""


def roles_of(given: Iterable[str], model: str, *, generating: bool) -> Roles:
    """The sub-agents with a model of their own, of `NAME=MODEL` texts. `UsageError` for one that nobody is, or that is
    named twice with different models, or writes tests where some are given."""
    found: dict[str, str] = {}
    for one in given:
        name, _, asked = one.partition("=")
        if name not in ROLES:
            raise UsageError(f"there is no sub-agent {name!r}", hint=f"one of {', '.join(ROLES)}")
        if not is_word(asked):
            raise UsageError(f"{one} names no model", hint=f"--param {name}=gpt-4.1-2025-04-14")
        if found.setdefault(name, asked) != asked:
            raise UsageError(f"{name} is to be {found[name]} and {asked}", hint="name one of them")
        if SubAgent(name.replace("_", "-")) is SubAgent.GENERATE_TESTS and not generating:
            raise UsageError("nobody generates tests where some are given", hint="--tests generate")
    return tuple(sorted((name, asked) for name, asked in found.items() if asked != model))


def check_agent(name: str, **asked: object) -> None:
    """`UsageError` where an agent is asked for what only TDFlow has; `asked` says of each parameter if it is given."""
    if given := [one for one, value in asked.items() if value]:
        hint = f"{name} takes model, tests (golden or METHOD@MODEL), budget_usd, budget_calls"
        words = ", ".join("tests=generate" if one == "tests" else one for one in given)
        raise UsageError(f"{name} has no {words}", hint=hint)


ROLES = tuple(agent.value.replace("-", "_") for agent in SubAgent if agent is not SubAgent.AGENT)


class RepairEnd(StrEnum):
    """How an attempt ended."""

    PASSED = "passed"
    """All failing tests pass and no other one broke."""
    ITERATIONS = "iterations"
    """They were used up."""
    NO_TESTS = "no-tests"
    """Generate Tests handed in none that fail on the base commit."""


@table("attempt_id", "iteration", "agent", "case_id", folder="method")
@dataclass(frozen=True, slots=True, kw_only=True)
class RepairStep:
    """One sub-agent at work, written when it has ended."""

    attempt_id: str
    instance_key: InstanceKey
    instance_id: InstanceId
    method: MethodName
    model: ModelName
    iteration: int
    """1-based; 0 for Generate Tests, which comes before."""
    agent: SubAgent
    case_id: CaseId
    """The test that was debugged; empty for the other sub-agents."""
    submitted: bool
    """Whether it handed in what was asked of it, within its turns."""
    asked: ModelName | None = None
    """The model of this sub-agent; null in rows of a time when all had the same."""
    submission: str
    """The patch or the report; empty where there is none."""
    calls: int
    """Replies of the model."""
    branches: tuple[str, ...]
    """What it did, in order: tools by name, `asked`, what was refused."""
    reasons: tuple[str, ...]
    """What was wrong with its replies."""
    cost_usd: float | None
    """Of these replies when they were made; null where a price is unknown."""
    started_at: datetime
    finished_at: datetime


class LoneReason(StrEnum):
    """Why a test ends otherwise alone than among the others. The empty value: it does not."""

    SAME = ""
    EARLIER_CASE = "earlier-case"
    """One test that runs before it makes the difference: by what it leaves behind, in a fixture that both share or
    elsewhere."""
    EARLIER_CASES = "earlier-cases"
    """Several of those together do."""
    OTHER_FILES = "other-files"
    """The other test files only have to be imported."""
    TIME_LIMIT = "time-limit"
    """Alone it ran into a limit of the sandbox."""
    FLIPS = "flips"
    """Alone it ends now in one way and now in another."""
    NOT_FOUND = "not-found"
    """No test of that name runs by itself."""
    UNEXPLAINED = "unexplained"
    """Neither the files nor the tests before it make the difference."""


@table("attempt_id", "iteration", "case_id", folder="method")
@dataclass(frozen=True, slots=True, kw_only=True)
class LoneCase:
    """A test that does not pass on the patch of an iteration, run alone before it is debugged alone."""

    attempt_id: str
    instance_key: InstanceKey
    instance_id: InstanceId
    method: MethodName
    model: ModelName
    iteration: int
    """1-based."""
    case_id: CaseId
    reason: LoneReason
    among: str
    """How it ended among the others: the name of the exception."""
    alone: str
    """How it ended alone: the same, `passed`, or how the run ended; empty where it did not run."""
    earlier: tuple[CaseId, ...]
    """The tests before it that make the difference, as few as were found."""
    runs: int
    """That it took to find out."""
    created_at: datetime


@table("attempt_id", "iteration", folder="method")
@dataclass(frozen=True, slots=True, kw_only=True)
class RepairPatch:
    """The patch of one iteration and what the tests said to it."""

    attempt_id: str
    instance_key: InstanceKey
    instance_id: InstanceId
    method: MethodName
    model: ModelName
    iteration: int
    """1-based."""
    patch: str
    """Against the base commit, in normal form; what was handed in where it does not apply; empty for none."""
    rung: str
    """How far the rules of application had to be relaxed; empty where it was not applied."""
    revised: bool
    """Whether Revise Patch had it."""
    problem: str
    """Why it was not applied; empty otherwise."""
    status: RunStatus | None
    """Of the run of the tests; null where there was none."""
    targets: int
    """Tests that fail on the base commit and have to pass."""
    resolved: int
    """Those of them that pass with the patch."""
    guarded: int
    """Tests that pass on the base commit."""
    broken: tuple[CaseId, ...]
    """Those of them that do not with the patch."""
    failing: tuple[CaseId, ...]
    """Targets that do not pass."""
    debugged: int
    """How many of both were debugged."""
    created_at: datetime


@table("attempt_id", folder="method")
@dataclass(frozen=True, slots=True, kw_only=True)
class RepairAudit:
    """One step of an attempt in which a sub-agent looked where it should not have. What Generate Tests did is in
    `trajectory_audit`, like what other methods of test generation do."""

    attempt_id: str
    instance_key: InstanceKey
    instance_id: InstanceId
    method: MethodName
    model: ModelName
    step: int
    """0-based position in the attempt's trajectory."""
    rule: str
    """As in `trajectory_audit`. What the attempt was given, golden tests for instance, is no finding."""
    detail: str
    """What stands there, at most 300 characters."""


@table("attempt_id", folder="method", files=("trajectory",))
@dataclass(frozen=True, slots=True, kw_only=True)
class RepairAttempt:
    """One finished attempt at one instance. Written after its other rows, so this row means that they are all there."""

    attempt_id: str
    """Content key of the instance, the tests, the method with its prompts and limits, the model and the environment."""
    snapshot: SnapshotName
    instance_key: InstanceKey
    instance_id: InstanceId
    env_id: EnvId
    method: MethodName
    model: ModelName
    tests: str
    """Whose tests it worked with: `golden`, or `METHOD@MODEL` of a candidate, which is its own method where it wrote
    them."""
    end: RepairEnd
    iterations: int
    """That were begun."""
    iteration: int | None
    """The one whose patch was chosen; null where there is none."""
    patch: str
    """The chosen one; empty for none."""
    calls: int
    """All replies, those of Generate Tests as well."""
    cost_usd: float | None
    """Of all replies but those of Generate Tests, when they were made; null where a price is unknown."""
    tests_usd: float | None
    """What generating the tests cost, which is no part of it; null where that is unknown."""
    trajectory: str | None = None
    """SHA-256 of the JSON lines of `RecordedStep` under `files/` of the store: what the sub-agents were told, answered
    and ran. That of Generate Tests is in its `generation`. Null in rows of a time when it was not kept."""
    started_at: datetime
    finished_at: datetime
