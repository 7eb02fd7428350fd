"""Runs: the expensive facts. A run is one test process on one code state with one suite."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from tasks.domain.names import (
    CaseId,
    EnvId,
    InstanceId,
    InstanceKey,
    LineNo,
    RepoName,
    RepoPath,
    RequestId,
    RunKey,
    Sha,
    SuiteId,
    content_key,
    jsonable,
)
from tasks.domain.outcome import (
    EDITED,
    CaseOrder,
    CodeState,
    Outcome,
    Phase,
    RunnerKind,
    RunStatus,
    RunVariant,
    SandboxKind,
    SuiteKind,
    Tracer,
)
from tasks.domain.table import table


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Ceilings for one run, enforced by the sandbox."""

    wall_s: float = 1800.0
    memory_mb: int = 4096
    processes: int = 512
    disk_mb: int = 2048
    """Bytes that the run may add to the checkout, its home and its temporary folder together."""
    log_mb: int = 8
    """Output beyond this is dropped and the log says so; it does not end the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Lines of one file to watch, in the numbering of the code state that runs."""

    path: RepoPath
    lines: tuple[LineNo, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRange:
    """All paths of a checkout from `first` on and before `end`, by the code points of their characters."""

    first: str
    end: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """Everything that decides a run's result, and nothing else: `run_key` is its content key."""

    instance_key: InstanceKey
    instance_id: InstanceId
    repo: RepoName
    base_commit: Sha
    env_id: EnvId
    runner: RunnerKind
    runner_version: str
    test_args: tuple[str, ...]
    env: tuple[str, ...]
    source_roots: tuple[str, ...]
    suite_kind: SuiteKind
    suite_id: SuiteId | None
    """Null for suite `none`."""
    code_state: CodeState
    patches: tuple[str, ...]
    """Unified diffs in the order in which they are applied to the base commit."""
    files: tuple[RepoPath, ...]
    """Test files handed to the runner."""
    watch: tuple[Watch, ...]
    tracer: Tracer
    repeat: int
    sandbox: SandboxKind
    limits: Limits
    variant: RunVariant = RunVariant.PLAIN
    order: CaseOrder = CaseOrder.GIVEN
    network: bool = False
    cases: tuple[CaseId, ...] = ()
    """These and no others are run, in the order of their files; all of `files` where it is empty. Nothing stores such
    runs: what picks the cases out is no part of `runner_version`, and would have to be."""
    probe_near: tuple[RepoPath, ...] = ()
    """Files that get probes together with their neighbours, whether the run watches lines or not: tests cannot tell
    which run is judged by lines, nor by which lines. These are the files in which any run of the instance watches some.
    """

    @property
    def run_key(self) -> RunKey:
        """Names that do not decide the result (`instance_*`, `suite_*`, `code_state`, `variant`, `probe_near`) are left
        out, and so are the order that cases are given in, no network and all cases: runs of before there was another
        keep their keys."""
        facts = asdict(self)
        for name in ("instance_key", "instance_id", "suite_kind", "suite_id", "code_state", "variant", "probe_near"):
            facts.pop(name)
        if self.order is CaseOrder.GIVEN:
            facts.pop("order")
        if not self.network:
            facts.pop("network")
        if not self.cases:
            facts.pop("cases")
        return RunKey(content_key("run", jsonable(facts)))

    @property
    def code_patches(self) -> tuple[str, ...]:
        """What is applied to the code: all patches but the suite's, which comes last."""
        return self.patches if self.suite_kind is SuiteKind.NONE else self.patches[:-1]

    @property
    def built_patches(self) -> tuple[str, ...]:
        """What whoever compiles is to see: `code_patches` without the edit of a robustness check, which comes last."""
        return self.code_patches[:-1] if self.variant in EDITED else self.code_patches

    def is_golden(self, place: int) -> bool:
        """Whether the patch at `place` is the golden patch or the golden tests, as the instance brings them."""
        if self.variant is RunVariant.PROPOSED:
            return False
        last = place == len(self.patches) - 1
        return (last and self.suite_kind is SuiteKind.GOLDEN) or (place == 0 and self.code_state is CodeState.AFTER)

    @property
    def order_seed(self) -> int | None:
        """What the order of the cases is drawn from: the same run has the same order. Null where nothing is drawn."""
        return int(self.run_key[:8], 16) if self.order is CaseOrder.SHUFFLED else None


@table("run_key", folder="repo", files=("log",))
@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One finished run. Written after its outcomes and lines, so a `run` row means that they are all there."""

    run_key: RunKey
    instance_key: InstanceKey
    instance_id: InstanceId
    repo: RepoName
    env_id: EnvId
    suite_kind: SuiteKind
    suite_id: SuiteId | None
    code_state: CodeState
    files: tuple[RepoPath, ...]
    files_key: str
    """`files_key(files)`: how a suite `none` is found for a set of files."""
    tracer: Tracer
    repeat: int
    """From 0: how often the same was run before."""
    sandbox: SandboxKind
    """Where it ran."""
    status: RunStatus
    detail: str
    """Why it is not `completed`, or the first lines of a runner's own complaint; empty otherwise."""
    exit_code: int | None
    """Null where the process was killed."""
    wall_s: float
    """Seconds of the process."""
    cpu_s: float | None
    """User plus system seconds of the whole process tree; null where the sandbox cannot tell."""
    setup_s: float
    """Seconds spent on the checkout and on applying patches, outside the sandbox."""
    cases: int
    """Outcomes that it has."""
    image: str = ""
    """Digest of the container image that it ran in, `sha256:…`; empty in the other sandboxes."""
    variant: RunVariant = RunVariant.PLAIN
    """`plain`, or the robustness check or validation condition that this run is for."""
    runner_version: str = ""
    """`RunSpec.runner_version`; empty in runs of before this was written down. See `current`."""
    order_seed: int | None = None
    """Seed that the cases were shuffled by; null where they came in the order given, or reversed."""
    log: str
    """SHA-256 of the log under `files/` of the store; empty where nothing was printed."""
    project_commit: str
    project_dirty: bool
    project_version: str
    config_hash: str
    started_at: datetime
    finished_at: datetime


@table("request_id", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One run that an instance asked for, and what the run is to it.

    Instances that ask for the same run share it, and the `run` row names the instance that made it. Views join runs by
    requests (`requested_run`), so each of these instances has the run under its own names.
    """

    request_id: RequestId
    run_key: RunKey
    """The run that answers: the traced one where an untraced run was planned and only the traced one is stored."""
    instance_key: InstanceKey
    instance_id: InstanceId
    repo: RepoName
    suite_kind: SuiteKind
    suite_id: SuiteId | None
    files_key: str
    """As in `run`."""
    code_state: CodeState
    variant: RunVariant
    repeat: int
    """As in `run`."""
    requested_at: datetime
    """When, UTC."""

    @staticmethod
    def of(spec: RunSpec, run_key: RunKey, requested_at: datetime) -> RunRequest:
        """The request of `spec` that the run `run_key` answers."""
        names = (spec.instance_key, spec.suite_kind, spec.suite_id, spec.code_state, spec.variant)
        return RunRequest(
            request_id=RequestId(content_key("request", run_key, *names)),
            run_key=run_key,
            instance_key=spec.instance_key,
            instance_id=spec.instance_id,
            repo=spec.repo,
            suite_kind=spec.suite_kind,
            suite_id=spec.suite_id,
            files_key=files_key(spec.files),
            code_state=spec.code_state,
            variant=spec.variant,
            repeat=spec.repeat,
            requested_at=requested_at,
        )

    def named(self, run: Run) -> Run:
        """The run that answers, under the names that it has for this instance."""
        return replace(
            run,
            instance_key=self.instance_key,
            instance_id=self.instance_id,
            suite_kind=self.suite_kind,
            suite_id=self.suite_id,
            code_state=self.code_state,
            variant=self.variant,
        )


def current(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Of the runs of one instance those of the runner that it was last run by, ours that failed as well.

    Runners of two versions may tell the same behaviour apart, so what an older one said is superseded as soon as a
    newer one has run. `current_run` says the same in SQL.
    """
    known = tuple(runs)
    last = max(
        (run for run in known if run.status is not RunStatus.INFRASTRUCTURE),
        key=lambda run: (run.finished_at, run.run_key),
        default=None,
    )
    return tuple(run for run in known if last is None or run.runner_version == last.runner_version)


@table("run_key", folder="repo", of_run=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOutcome:
    """One test case in one run."""

    run_key: RunKey
    case_id: CaseId
    path: RepoPath
    """Test file that holds the case."""
    qualname: str
    """`Class.method` or `function`, without parameters: joins with `edited_definition`."""
    label: str
    """The name that the repository's own runner prints: what SWE-bench's lists hold. Empty where it prints none: the
    case never began, or something ended the run during it."""
    position: int
    """0-based place in the order in which the run's cases first reported."""
    phase: Phase
    outcome: Outcome
    duration_s: float | None
    """Null where the case did not finish."""
    message: str
    """Last lines of the traceback or the skip reason, at most 4,000 characters."""
    place: int | None = None
    """Position among the cases of its function in the order of collection, from 0. Null for a module that cannot be
    collected, for a shared teardown, and in runs from before it was recorded."""


@table("run_key", folder="repo", of_run=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class LineHit:
    """Watched lines that one context executed in one run."""

    run_key: RunKey
    path: RepoPath
    case_id: CaseId | None
    """Null for lines executed outside any case: import and collection."""
    lines: tuple[LineNo, ...]
    """In the numbering of the run's code state."""
    counts: tuple[int, ...] | None = None
    """How often each of `lines` was executed, as a line tracer counts: the head of a loop once for each turn as well.
    Null where nobody counted: coverage.py as tracer, and runs from before there were counts."""


@table("run_key", folder="repo", of_run=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedFile:
    """What one run knows about one watched file, executed or not."""

    run_key: RunKey
    path: RepoPath
    loaded: bool
    """Whether any line of the module ran in this run."""
    executable: tuple[LineNo, ...]
    """Watched lines for which the interpreter has code (a line that starts a statement or continues one); none where
    the module was not loaded."""


def files_key(files: tuple[RepoPath, ...]) -> str:
    """Content key of a set of test files, whatever their order."""
    return content_key("files", sorted(set(files)))
