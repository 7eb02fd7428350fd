"""Validation: are the golden tests of a snapshot's instances to be trusted?

    golden and nop ─► leaks? ─► solved? ─► again in another order and seed, a year on ─► disagree? ─► many times more
                                   └─ no ─► twice with a network, twice without ────────────┴─► judgement ◄─┘

Cheap things first: what golden does not solve is not repeated, and what leaks is not run any more. Runs that are in
the store are not made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from flows.evaluation import EvaluationRequest, run_evaluation
from flows.fan_out import Failed, FanOut, Threads, Unit
from flows.settings import Settings
from flows.summary import EvaluationSummary
from tasks.adapters.store.database import ensure_views, query
from tasks.adapters.store.latest import literal
from tasks.domain.names import EnvId, InstanceId, SuiteId
from tasks.domain.validation import Validation
from tasks.evaluate.task import Purpose, RunSettings, run_suites
from tasks.evaluate.validation_plan import Repeats
from tasks.validate.task import ToJudge, audit_instance, golden_suites, judge_instances, needs_settling

FAKETIME = (
    Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"),
    Path("/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1"),
    Path("/usr/lib/faketime/libfaketime.so.1"),
)
"""Where distributions put it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationRequest:
    """Which instances, and how thoroughly."""

    snapshot: str
    instances: tuple[str, ...] = ()
    """Instance ids; empty for the whole snapshot."""
    repeats: Repeats = field(default_factory=Repeats)
    health: bool = False
    """Only one more run of everything, as a look at instances that were valid before."""
    trusted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationSummary:
    """What came of it."""

    validations: tuple[Validation, ...]
    evaluation: EvaluationSummary
    executed: int
    """Runs made, those of the evaluation included."""

    @property
    def valid(self) -> tuple[InstanceId, ...]:
        return tuple(row.instance_id for row in self.validations if row.valid)

    @property
    def text(self) -> str:
        """One line for each instance, and what it took."""
        rows = [f"{row.instance_id}  {row.reason or 'valid'}  {_counts(row)}  {row.detail}" for row in self.validations]
        return "\n".join([*rows, f"{len(self.valid)} of {len(rows)} valid; {self.executed} runs"])

    @property
    def exit_code(self) -> int:
        return self.evaluation.exit_code


def validate_here(request: ValidationRequest, settings: Settings) -> ValidationSummary:
    """Validate in this process, on threads, with no server."""
    return run_validation(request, settings, Threads(settings.workers))


def run_validation(request: ValidationRequest, settings: Settings, fan_out: FanOut) -> ValidationSummary:
    """The story. `fan_out` says where units of work run; the result is the same."""
    snapshot = request.snapshot
    asked = EvaluationRequest(
        candidates=("golden", "nop"), snapshot=snapshot, instances=request.instances, trusted=request.trusted
    )
    evaluation = run_evaluation(asked, settings, fan_out)
    reasons = golden_reasons(settings, snapshot)
    wanted = [InstanceId(name) for name in request.instances] or list(reasons)
    repeats = replace(request.repeats, faketime=request.repeats.faketime or _faketime())
    looked = _look_for_leaks(settings, fan_out, snapshot, evaluation.environments)
    clean = {name: env for name, env in evaluation.environments.items() if looked[name] == _CLEAN}
    suites = golden_suites(settings.places, snapshot, clean)
    rounds = _Rounds(settings, fan_out, replace(asked.run_settings(settings), repeats=repeats), snapshot, suites)
    solved = {name: env for name, env in clean.items() if reasons.get(name) == ""}
    unsolved = {name: env for name, env in clean.items() if reasons.get(name)}
    executed = evaluation.ran.executed
    if request.health:
        executed += rounds.make("health", solved, Purpose.HEALTH)
    executed += rounds.make("validation", solved, Purpose.VALIDATE)
    executed += rounds.make(
        "settling", _only(solved, needs_settling(settings.places, snapshot, solved)), Purpose.SETTLE
    )
    executed += rounds.make("doubts", unsolved, Purpose.DOUBT)
    judged = judge_instances(
        settings.places,
        snapshot,
        tuple(_to_judge(name, evaluation, reasons, looked.get(name, _CLEAN)) for name in wanted),
    )
    ensure_views(settings.store, settings.database, settings.sql)
    return ValidationSummary(validations=judged, evaluation=evaluation, executed=executed)


def golden_reasons(settings: Settings, snapshot: str) -> dict[InstanceId, str]:
    """Why the grader `paper` does not call the golden tests of an instance solved; empty where it does."""
    answer = query(
        settings.database,
        f"""SELECT t.instance_id, coalesce(p.reason, 'not-measured') AS reason
            FROM task_instance AS t
            LEFT JOIN paper AS p ON p.instance_key = t.instance_key AND p.snapshot = t.snapshot
                 AND p.method = 'golden' AND p.policy = 'tests-only'
            WHERE t.snapshot = {literal(snapshot)} ORDER BY t.instance_id""",
    )
    return {InstanceId(row["instance_id"]): row["reason"] for row in answer.to_pylist()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    """What came of looking through a checkout and its environment."""

    leak: str = ""
    trouble: str = ""
    """Why that failed."""


_CLEAN = _Looked()


def _look_for_leaks(
    settings: Settings, fan_out: FanOut, snapshot: str, environments: Mapping[InstanceId, EnvId]
) -> dict[InstanceId, _Looked]:
    found = fan_out("leaks", audit_instance, [(settings.places, snapshot, *pair) for pair in environments.items()])
    return {
        name: _Looked(trouble=str(result.error)) if isinstance(result, Failed) else _Looked(leak=result)
        for name, result in zip(environments, found, strict=True)
    }


@dataclass(frozen=True, slots=True)
class _Rounds:
    """Rounds of runs of golden suites."""

    settings: Settings
    fan_out: FanOut
    run: RunSettings
    snapshot: str
    suites: Mapping[InstanceId, SuiteId]
    """Of the instances that have one."""

    def make(self, label: str, wanted: Mapping[InstanceId, EnvId], purpose: Purpose) -> int:
        """How many runs were made."""
        units = [self._unit(name, env, purpose) for name, env in wanted.items() if name in self.suites]
        results = self.fan_out(label, run_suites, units)
        return sum(result.executed for result in results if not isinstance(result, Failed))

    def _unit(self, name: InstanceId, env_id: EnvId, purpose: Purpose) -> Unit:
        return (self.settings.places, self.run, self.snapshot, name, env_id, (self.suites[name],), purpose)


def _only(wanted: Mapping[InstanceId, EnvId], some: Iterable[InstanceId]) -> dict[InstanceId, EnvId]:
    return {name: wanted[name] for name in some}


def _to_judge(
    name: InstanceId, evaluation: EvaluationSummary, reasons: Mapping[InstanceId, str], looked: _Looked
) -> ToJudge:
    return ToJudge(
        instance_id=name,
        env_id=evaluation.environments.get(name),
        golden_reason=reasons.get(name, "not-measured"),
        trouble=evaluation.troubled.get(name, looked.trouble),
        leak=looked.leak,
    )


def _counts(row: Validation) -> str:
    return f"F2P {row.fail_to_pass}, P2P {row.pass_to_pass}, quarantined {row.quarantined}, runs {row.runs}"


def _faketime() -> str:
    return next((str(path) for path in FAKETIME if path.exists()), "")
