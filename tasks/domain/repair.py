"""Test-driven repair: the work of its sub-agents, and the resulting patches (the TDFlow paper, section 3)."""

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
    """The sub-agent of a step."""

    GENERATE_TESTS = "generate-tests"
    """Writes tests that reproduce the issue, if none are given."""
    EXPLORE_FILES = "explore-files"
    """Reads the repository at the base commit, and proposes a patch against it."""
    REVISE_PATCH = "revise-patch"
    """Corrects a patch that does not apply."""
    DEBUG_ONE = "debug-one"
    """Uses a debugger to find out why one test fails with a patch, and reports it."""
    AGENT = "agent"
    """Not a part of TDFlow: a third-party agent that does the whole work."""


Roles = tuple[tuple[str, str], ...]
"""Sub-agent, in the notation of parameters (`debug_one`), and its model, sorted."""


def roles_of(given: Iterable[str], model: str, *, generating: bool) -> Roles:
    """Returns the sub-agents with a model of their own, from `NAME=MODEL` texts.

    Raises `UsageError` for an unknown sub-agent or for different models of one. Also raises it for a model of Generate
    Tests if tests are given.
    """
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
    """Raises `UsageError` if parameters of TDFlow are given for an agent; `asked` is {parameter: whether it is
    given}."""
    if given := [one for one, value in asked.items() if value]:
        hint = f"{name} takes model, tests (golden or METHOD@MODEL), budget_usd, budget_calls"
        words = ", ".join("tests=generate" if one == "tests" else one for one in given)
        raise UsageError(f"{name} has no {words}", hint=hint)


ROLES = tuple(agent.value.replace("-", "_") for agent in SubAgent if agent is not SubAgent.AGENT)


class RepairEnd(StrEnum):
    """How an attempt ended."""

    PASSED = "passed"
    """All failing tests pass and no other test broke."""
    ITERATIONS = "iterations"
    """The maximum number of iterations was reached."""
    NO_TESTS = "no-tests"
    """Generate Tests submitted no tests that fail on the base commit."""


@table("attempt_id", "iteration", "agent", "case_id", folder="method")
@dataclass(frozen=True, slots=True, kw_only=True)
class RepairStep:
    """The finished work of one sub-agent."""

    attempt_id: str
    instance_key: InstanceKey
    instance_id: InstanceId
    method: MethodName
    model: ModelName
    iteration: int
    """1-based; 0 for Generate Tests, which runs first."""
    agent: SubAgent
    case_id: CaseId
    """The debugged test; empty for the other sub-agents."""
    submitted: bool
    """Whether it submitted the requested result within its turns."""
    asked: ModelName | None = None
    """The model of this sub-agent; null in old rows, when all sub-agents had the same model."""
    submission: str
    """The patch or the report; empty if there is none."""
    calls: int
    """Number of model replies."""
    branches: tuple[str, ...]
    """Its actions in order: tools by name, `asked`, refused requests."""
    reasons: tuple[str, ...]
    """Problems of its replies."""
    cost_usd: float | None
    """Original cost of these replies; null if a price is unknown."""
    started_at: datetime
    finished_at: datetime


class LoneReason(StrEnum):
    """Why a test has another outcome alone than among the others. The empty value: it has the same."""

    SAME = ""
    EARLIER_CASE = "earlier-case"
    """One earlier test makes the difference by its side effects, in a shared fixture or elsewhere."""
    EARLIER_CASES = "earlier-cases"
    """Several earlier tests together make the difference."""
    OTHER_FILES = "other-files"
    """Importing the other test files makes the difference."""
    TIME_LIMIT = "time-limit"
    """The test alone reached a limit of the sandbox."""
    FLIPS = "flips"
    """The test alone has different outcomes in different runs."""
    NOT_FOUND = "not-found"
    """No test of that name can be run alone."""
    UNEXPLAINED = "unexplained"
    """Neither the other files nor the earlier tests make the difference."""


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
    """Its result among the others: the name of the exception."""
    alone: str
    """Its result alone: the name of the exception, `passed`, or how the run ended; empty if it did not run."""
    earlier: tuple[CaseId, ...]
    """The smallest found set of earlier tests that make the difference."""
    runs: int
    """Number of runs for this search."""
    created_at: datetime


@table("attempt_id", "iteration", folder="method")
@dataclass(frozen=True, slots=True, kw_only=True)
class RepairPatch:
    """The patch of one iteration and its test results."""

    attempt_id: str
    instance_key: InstanceKey
    instance_id: InstanceId
    method: MethodName
    model: ModelName
    iteration: int
    """1-based."""
    patch: str
    """In normal form against the base commit; the raw submission if it does not apply; empty for none."""
    rung: str
    """Mode in which the patch applied, from strict to relaxed; empty if it was not applied."""
    revised: bool
    """Whether Revise Patch worked on it."""
    problem: str
    """Why it was not applied; empty otherwise."""
    status: RunStatus | None
    """Status of the test run; null if there was none."""
    targets: int
    """Number of tests that fail on the base commit and have to pass."""
    resolved: int
    """Number of targets that pass with the patch."""
    guarded: int
    """Number of tests that pass on the base commit."""
    broken: tuple[CaseId, ...]
    """Guarded tests that do not pass with the patch."""
    failing: tuple[CaseId, ...]
    """Targets that do not pass."""
    debugged: int
    """Number of failing and broken tests that were debugged."""
    created_at: datetime


@table("attempt_id", folder="method")
@dataclass(frozen=True, slots=True, kw_only=True)
class RepairAudit:
    """One step of an attempt in which a sub-agent read forbidden content.

    Steps of Generate Tests are in `trajectory_audit`, like those of other test generation methods.
    """

    attempt_id: str
    instance_key: InstanceKey
    instance_id: InstanceId
    method: MethodName
    model: ModelName
    step: int
    """0-based position in the attempt's trajectory."""
    rule: str
    """As in `trajectory_audit`. Inputs of the attempt, such as golden tests, are no finding."""
    detail: str
    """The content of the step, at most 300 characters."""


@table("attempt_id", folder="method", files=("trajectory",))
@dataclass(frozen=True, slots=True, kw_only=True)
class RepairAttempt:
    """One finished attempt at one instance. Written after its other rows, so this row means that they are complete."""

    attempt_id: str
    """Content key of the instance, the tests, the method with its prompts and limits, the model and the environment."""
    snapshot: SnapshotName
    instance_key: InstanceKey
    instance_id: InstanceId
    env_id: EnvId
    method: MethodName
    model: ModelName
    tests: str
    """Origin of its tests: `golden`, or `METHOD@MODEL` of a candidate. This is the attempt's own method if it wrote the
    tests itself."""
    end: RepairEnd
    iterations: int
    """Number of started iterations."""
    iteration: int | None
    """The iteration whose patch was chosen; null if there is none."""
    patch: str
    """The chosen patch; empty for none."""
    calls: int
    """All model replies, including those of Generate Tests."""
    cost_usd: float | None
    """Original cost of all replies except those of Generate Tests; null if a price is unknown."""
    tests_usd: float | None
    """Cost of generating the tests, not included in `cost_usd`; null if unknown."""
    trajectory: str | None = None
    """SHA-256 of the JSON lines of `RecordedStep` under `files/` of the store: prompts, replies and commands of the
    sub-agents. The `generation` row has that of Generate Tests. Null in rows older than this column."""
    started_at: datetime
    finished_at: datetime
