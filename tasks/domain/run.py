"""Run rows. A run is one test process on one code state with one suite."""

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
    """Limits of one run, enforced by the sandbox."""

    wall_s: float = 1800.0
    memory_mb: int = 4096
    processes: int = 512
    disk_mb: int = 2048
    """Megabytes that the run may add to the checkout, its home and its temporary folder together."""
    log_mb: int = 8
    """Further output is dropped with a note in the log; it does not end the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Lines of one file to watch, in the numbering of the code state that runs."""

    path: RepoPath
    lines: tuple[LineNo, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRange:
    """All paths of a checkout from `first` (inclusive) to `end` (exclusive), ordered by code points."""

    first: str
    end: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """All inputs that determine a run's result, with names for reference: `run_key` is the content key of the
    inputs."""

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
    """Test files for the runner."""
    watch: tuple[Watch, ...]
    tracer: Tracer
    repeat: int
    sandbox: SandboxKind
    limits: Limits
    variant: RunVariant = RunVariant.PLAIN
    order: CaseOrder = CaseOrder.GIVEN
    network: bool = False
    cases: tuple[CaseId, ...] = ()
    """The only cases to run, in the order of their files; empty for all cases of `files`. Such runs are never stored,
    because the code that selects cases is not part of `runner_version`."""
    probe_near: tuple[RepoPath, ...] = ()
    """Files that get probes together with their neighbours, even if the run watches no lines. So tests cannot detect
    whether or which lines are watched. These are all files in which any run of the instance watches lines."""

    @property
    def run_key(self) -> RunKey:
        """The content key of the inputs.

        It excludes names that do not affect the result: `instance_*`, `suite_*`, `code_state`, `variant`, `probe_near`.
        It also excludes the default values of `order`, `network` and `cases`, so that older runs without these fields
        keep their keys.
        """
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
        """The patches of the code: all except the suite's, which comes last."""
        return self.patches if self.suite_kind is SuiteKind.NONE else self.patches[:-1]

    @property
    def built_patches(self) -> tuple[str, ...]:
        """The patches that a build uses: `code_patches` without the edit of a robustness check, which comes last."""
        return self.code_patches[:-1] if self.variant in EDITED else self.code_patches

    def is_golden(self, place: int) -> bool:
        """Whether the patch at `place` is the instance's own golden patch or golden tests."""
        if self.variant is RunVariant.PROPOSED:
            return False
        last = place == len(self.patches) - 1
        return (last and self.suite_kind is SuiteKind.GOLDEN) or (place == 0 and self.code_state is CodeState.AFTER)

    @property
    def order_seed(self) -> int | None:
        """Seed of the case order, derived from the run key; None if the order is not shuffled."""
        return int(self.run_key[:8], 16) if self.order is CaseOrder.SHUFFLED else None


@table("run_key", folder="repo", files=("log",))
@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One finished run. Written after its outcomes and lines, so a `run` row means that they are complete."""

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
    """`files_key(files)`: finds the run of suite `none` for a set of files."""
    tracer: Tracer
    repeat: int
    """0-based number of the repetition."""
    sandbox: SandboxKind
    """The kind of sandbox that executed it."""
    status: RunStatus
    detail: str
    """Why it is not `completed`, or the first lines of a runner's error message; empty otherwise."""
    exit_code: int | None
    """Null if the process was killed."""
    wall_s: float
    """Seconds of the process."""
    cpu_s: float | None
    """User plus system seconds of the whole process tree; null if the sandbox cannot measure it."""
    setup_s: float
    """Seconds spent on the checkout and on applying patches, outside the sandbox."""
    cases: int
    """Number of its outcomes."""
    image: str = ""
    """Digest of its container image, `sha256:…`; empty in the other sandboxes."""
    variant: RunVariant = RunVariant.PLAIN
    """`plain`, or the robustness check or validation condition of this run."""
    runner_version: str = ""
    """`RunSpec.runner_version`; empty in runs older than this column. See `current`."""
    order_seed: int | None = None
    """Seed of the shuffled case order; null if the order was given or reversed."""
    log: str
    """SHA-256 of the log under `files/` of the store; empty without output."""
    project_commit: str
    project_dirty: bool
    project_version: str
    config_hash: str
    started_at: datetime
    finished_at: datetime


@table("request_id", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One run that an instance requested, and the role of the run for that instance.

    Instances that request the same run share it, and the `run` row has the names of the instance that executed it.
    Views join runs by requests (`requested_run`), so each of these instances has the run under its own names.
    """

    request_id: RequestId
    run_key: RunKey
    """The run that serves the request: the traced one if an untraced run was planned and only the traced one is
    stored."""
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
    """Time of the request, UTC."""

    @staticmethod
    def of(spec: RunSpec, run_key: RunKey, requested_at: datetime) -> RunRequest:
        """Returns the request of `spec` that the run `run_key` serves."""
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
        """Returns the run with the names that it has for this instance."""
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
    """Returns those runs of one instance that have the latest runner version, including runs with internal failures.

    Runners of two versions may report the same behaviour differently, so a newer runner's runs supersede older ones.
    `current_run` is the SQL equivalent.
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
    """Test file that contains the case."""
    qualname: str
    """`Class.method` or `function`, without parameters: joins with `edited_definition`."""
    label: str
    """The name that the repository's own runner prints, as in SWE-bench's lists. Empty if it prints none: the case
    never started, or the run ended during it."""
    position: int
    """0-based place in the order in which the run's cases first reported."""
    phase: Phase
    outcome: Outcome
    duration_s: float | None
    """Null if the case did not finish."""
    message: str
    """Last lines of the traceback or the skip reason, at most 4,000 characters."""
    place: int | None = None
    """0-based position among the cases of its function in collection order. Null for a module that cannot be collected,
    for a shared teardown, and in runs older than this column."""


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
    """How often each of `lines` was executed, as a line tracer counts: the head of a loop once per iteration as well.
    Null with coverage.py as tracer, and in runs older than this column."""


@table("run_key", folder="repo", of_run=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedFile:
    """The data of one run about one watched file, executed or not."""

    run_key: RunKey
    path: RepoPath
    loaded: bool
    """Whether any line of the module ran in this run."""
    executable: tuple[LineNo, ...]
    """Watched lines for which the interpreter has code (a line that starts a statement or continues one); none if the
    module was not loaded."""


def files_key(files: tuple[RepoPath, ...]) -> str:
    """Returns the content key of a set of test files, independent of their order."""
    return content_key("files", sorted(set(files)))
