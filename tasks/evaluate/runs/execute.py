"""Executes one run: a fresh tree, the patches, the runner in a sandbox, and its report as rows."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from tasks.adapters.git.commits import LAYOUT, Commits
from tasks.adapters.git.trees import Trees
from tasks.adapters.patch.apply import apply_patch
from tasks.adapters.patch.layers import FIXED_MTIME
from tasks.adapters.patch.model import Refused
from tasks.adapters.runner.job import RunnerJob
from tasks.adapters.runner.launch import REPORT, SEED, complete, never_started, runner_process
from tasks.adapters.runner.report import Report, read_report
from tasks.adapters.runner.seal import new_seal
from tasks.adapters.sandbox.base import Finished, Job, Sandbox
from tasks.adapters.sandbox.base_trees import Bases
from tasks.adapters.sandbox.scratch import spare_folder
from tasks.adapters.store.files.provenance import provenance
from tasks.adapters.uv.plan import BuiltEnvironment
from tasks.domain.errors import BuildFailed, InfrastructureError, SandboxError
from tasks.domain.names import content_key
from tasks.domain.outcome import Outcome, RunStatus, RunVariant, Tracer
from tasks.domain.run import CaseOutcome, LineHit, PathRange, Run, RunSpec, WatchedFile, files_key
from tasks.evaluate.runs.probed_files import probed_by

DETAIL_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResources:
    """The shared resources of runs. Threads may share them."""

    trees: Trees
    sandbox: Sandbox
    environment: Callable[[RunSpec], BuiltEnvironment]
    """Returns the built environment of a run, with the extension modules of its code state.

    Raises `BuildFailed` if they can never be built.
    """
    scratch: Path
    """Folder for trees and outboxes; its contents belong to running runs."""
    bases: Bases | None = None
    """Trees of base commits. Every run of a commit uses such a tree as the lower layer of its own checkout.

    None if the sandbox has no overlays: then every run unpacks its own tree.
    """
    config: object
    """The settings, for the provenance of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """All rows and the log of one run, ready for the store."""

    run: Run
    cases: tuple[CaseOutcome, ...] = ()
    hits: tuple[LineHit, ...] = ()
    watched: tuple[WatchedFile, ...] = ()
    log: bytes = b""


@dataclass(slots=True)
class _RunProgress:
    """Intermediate results of a run under way."""

    started_at: datetime
    setup_s: float = 0.0
    finished: Finished | None = None
    report: Report | None = None
    log: bytes = b""


def execute(spec: RunSpec, workshop: RunResources) -> Recorded:
    """Executes `spec` once. Internal failures give status `infrastructure`, never an exception or an outcome."""
    progress = _RunProgress(started_at=datetime.now(UTC))
    try:
        with spare_folder(workshop.scratch) as folder:
            refusal = _perform(spec, workshop, folder, progress)
    except (InfrastructureError, OSError) as error:
        return _recorded(spec, workshop, progress, RunStatus.INFRASTRUCTURE, f"{type(error).__name__}: {error}")
    except BuildFailed as error:
        refusal = _Refusal(golden=spec.variant is not RunVariant.PROPOSED, detail=str(error))
    if refusal:
        return _recorded(spec, workshop, progress, refusal.status, refusal.detail)
    return _recorded(spec, workshop, progress, *_status(progress))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refusal:
    """Why a run cannot start: its patches do not apply or do not build."""

    golden: bool
    """Whether the instance's own patches are the cause, rather than a candidate or a proposed fix."""
    detail: str

    @property
    def status(self) -> RunStatus:
        return RunStatus.GOLDEN_UNAPPLIED if self.golden else RunStatus.UNAPPLIED


def _perform(spec: RunSpec, workshop: RunResources, folder: Path, progress: _RunProgress) -> _Refusal | None:
    """Prepares and executes the run. Returns why a patch does not apply, None if all do."""
    begun = time.monotonic()
    built = workshop.environment(spec)
    checkout, outbox, log = folder / "checkout", folder / "out", folder / "log"
    outbox.mkdir()
    with _base(spec, workshop, built) as base:
        if base is None:
            _fill(checkout, spec, workshop, built)
        else:
            checkout.mkdir()
            os.utime(checkout, (FIXED_MTIME, FIXED_MTIME))
        if refused := _apply(spec, workshop, checkout, base):
            return refused
        probe = probed_by(spec, workshop.trees.mirrors)
        job = _job(spec, workshop.sandbox, built, probe, checkout=checkout, outbox=outbox, log=log)
        seal = new_seal(outbox)
        progress.setup_s = time.monotonic() - begun
        progress.finished = workshop.sandbox.run(replace(job, base=base))
    if never_started(outbox, seal):
        raise SandboxError(f"exit code {progress.finished.exit_code} before the runner: {_end_of(log)}")
    progress.report = read_report(outbox / REPORT, spec.run_key, seal, spec.watch)
    progress.log = log.read_bytes() if log.exists() else b""
    return None


def _end_of(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-DETAIL_CHARACTERS:].strip() if log.exists() else ""


@contextmanager
def _base(spec: RunSpec, workshop: RunResources, built: BuiltEnvironment) -> Iterator[Path | None]:
    """Yields the tree that the runs of a commit share; None if every run has its own.

    Runs with other extension modules use another tree, since the golden patch changes the sources of these modules.
    """
    if workshop.bases is None:
        yield None
        return
    extensions = built.extensions.key if built.extensions else "none"
    name = content_key(LAYOUT, spec.repo, spec.base_commit, spec.env_id, extensions)
    with workshop.bases.held(name, lambda folder: _fill(folder, spec, workshop, built)) as base:
        yield base


def _fill(folder: Path, spec: RunSpec, workshop: RunResources, built: BuiltEnvironment) -> None:
    """Fills the folder before any patch: the files as the only commit of a repository, and the files of the build."""
    Commits(workshop.trees).checkout(spec.repo, spec.base_commit, folder)
    complete(folder, built)


def _apply(spec: RunSpec, workshop: RunResources, checkout: Path, base: Path | None) -> _Refusal | None:
    """Applies every patch of the run in order and commits the result. Returns the first refusal, None if all apply."""
    changed: list[str] = []
    for place, patch in enumerate(spec.patches):
        outcome = apply_patch(checkout, patch, base=base)
        if isinstance(outcome, Refused):
            return _Refusal(golden=spec.is_golden(place), detail=f"{outcome.reason}: {outcome.detail}")
        changed += outcome.paths
    Commits(workshop.trees).commit(checkout, changed, below=base)
    return None


def _job(
    spec: RunSpec,
    sandbox: Sandbox,
    built: BuiltEnvironment,
    probe: tuple[PathRange, ...],
    *,
    checkout: Path,
    outbox: Path,
    log: Path,
) -> Job:
    """Returns the runner process for `spec`."""
    job = RunnerJob(
        kind=spec.runner,
        files=spec.files,
        test_args=spec.test_args,
        cases=spec.cases,
        source_roots=spec.source_roots,
        watch=spec.watch,
        probe=probe,
        tracer=Tracer.PROBE if probe and spec.tracer is Tracer.NONE else spec.tracer,
        seed=SEED,
        order=spec.order,
        order_seed=spec.order_seed,
    )
    return runner_process(
        sandbox,
        built,
        job,
        env=spec.env,
        limits=spec.limits,
        checkout=checkout,
        outbox=outbox,
        log=log,
        network=spec.network,
    )


def _status(progress: _RunProgress) -> tuple[RunStatus, str]:
    """Returns the status of the run, and the reason if it did not complete."""
    finished, report = progress.finished, progress.report
    assert finished is not None
    assert report is not None
    if report.overflow:
        return RunStatus.LIMIT, "more cases than are kept"
    if report.completed:
        # `sandbox_run` searches for the word "unprobed": lines that were not watched have no coverage.
        return RunStatus.COMPLETED, "; ".join(
            filter(None, (report.complaint, *map("unprobed: {}".format, report.unprobed)))
        )
    if finished.timed_out:
        return RunStatus.TIMEOUT, f"ended after {finished.wall_s:.0f} s"
    if finished.limit:
        return RunStatus.LIMIT, f"the {finished.limit} limit ended it"
    return RunStatus.CRASHED, f"exit code {finished.exit_code} without the runner's last record. {report.complaint}"


def _recorded(
    spec: RunSpec, workshop: RunResources, progress: _RunProgress, status: RunStatus, detail: str
) -> Recorded:
    report, finished = progress.report, progress.finished
    if report and status is not RunStatus.INFRASTRUCTURE:
        under_way = Outcome.TIMEOUT if status is RunStatus.TIMEOUT else Outcome.ERROR
        cut = status is not RunStatus.COMPLETED or bool(report.complaint)
        why = detail or f"the session ended with exit code {report.exit_code}"
        report = report.settled(spec.files, why, under_way=under_way, cut=cut)
    cases = report.cases if report else ()
    origin = provenance(progress.started_at, datetime.now(UTC), workshop.config)
    run = Run(
        run_key=spec.run_key,
        instance_key=spec.instance_key,
        instance_id=spec.instance_id,
        repo=spec.repo,
        env_id=spec.env_id,
        suite_kind=spec.suite_kind,
        suite_id=spec.suite_id,
        code_state=spec.code_state,
        files=spec.files,
        files_key=files_key(spec.files),
        tracer=spec.tracer,
        repeat=spec.repeat,
        sandbox=workshop.sandbox.kind,
        status=status,
        detail=detail[:DETAIL_CHARACTERS],
        exit_code=finished.exit_code if finished else None,
        wall_s=finished.wall_s if finished else 0.0,
        cpu_s=finished.cpu_s if finished else None,
        setup_s=progress.setup_s,
        cases=len(cases),
        image=finished.image if finished else "",
        variant=spec.variant,
        runner_version=spec.runner_version,
        order_seed=spec.order_seed,
        log="",
        **asdict(origin),
    )
    if report is None:
        return Recorded(run=run, log=progress.log)
    return Recorded(run=run, cases=cases, hits=report.hits, watched=report.watched, log=progress.log)
