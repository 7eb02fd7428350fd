"""A workbench on this machine. The checkout is made when it is first needed: a method that only asks needs none."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath

from tasks.adapters.debugger.session import DebugCase, DebugLimits, DebugSession, debugging
from tasks.adapters.patch.apply import ReadBase
from tasks.adapters.patch.paths import path_problem
from tasks.adapters.patch.read import to_bytes, to_text
from tasks.adapters.patch.render import Change, render
from tasks.adapters.runner.job import RunnerJob
from tasks.adapters.runner.launch import (
    FIXED_ENV,
    REPORT,
    complete,
    environment_mounts,
    process_env,
    runner_process,
)
from tasks.adapters.runner.report import read_report
from tasks.adapters.runner.seal import new_seal
from tasks.adapters.sandbox.base import Finished, Job, Mount, Sandbox
from tasks.adapters.sandbox.scratch import spare_folder
from tasks.adapters.text import without_middle
from tasks.adapters.uv.plan import BuiltEnvironment
from tasks.adapters.workbench.base import CommandResult, Hit, Inside, Program, Tested, Workbench
from tasks.adapters.workbench.changes import changes_in
from tasks.domain.errors import BadInput
from tasks.domain.names import CaseId, RepoPath, RunKey
from tasks.domain.outcome import Outcome, Phase, RunStatus, Tracer
from tasks.domain.run import Limits

OUTPUT_CHARACTERS = 16_000
"""Of a command's output, half from its start and half from its end."""
OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE)
"""Errors that a command in the checkout cannot cause."""
SEARCH_BYTES = 1 << 20
"""Larger files are not searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceConfig:
    """What a bench is made of. Holds nothing that is later than the base commit."""

    paths: tuple[str, ...]
    read_base: ReadBase
    fill: Callable[[Path], None]
    """Fills a folder as test runs find it: the files of the base commit, and a repository that has this commit only."""
    fill_for_shell: Callable[[Path], None]
    """The same for commands: with a git repository that ends at the base commit, where there is one."""
    environment: Callable[[], BuiltEnvironment]
    sandbox: Sandbox
    scratch: Path
    limits: Limits = field(default_factory=Limits)
    agents: Path | None = None
    """Where programs of others that methods may start are installed; null where there are none."""
    told: Callable[[Sequence[str]], None] | None = None
    """Hears of every command before it runs; null where nobody listens."""


class LocalWorkbench:
    """See `Workbench`. To be used in a `with`: its folders go at the end."""

    def __init__(self, supplies: WorkspaceConfig, changed: dict[str, str | None] | None = None) -> None:
        self.supplies = supplies
        self._written = dict(changed or {})
        self._folder: Path | None = None
        self._folders = ExitStack()

    def __enter__(self) -> LocalWorkbench:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder = None
        self._folders.close()

    @property
    def paths(self) -> tuple[str, ...]:
        return self.supplies.paths

    def base(self, path: str) -> bytes | None:
        return self.supplies.read_base(path) if path in self._known else None

    def read(self, path: str) -> str | None:
        if path_problem(path):
            return None
        if self._folder is None:
            return self._unchecked(path)
        return _text_of(self._folder / "checkout", path)

    def write(self, path: str, text: str | None) -> None:
        if problem := path_problem(path):
            raise BadInput(f"{path!r} {problem}", hint="paths are relative to the root of the repository")
        self._written[path] = text
        if self._folder is not None:
            _put(self._folder / "checkout", path, text)

    def search(self, text: str, *, under: str = "", limit: int = 50) -> tuple[Hit, ...]:
        hits: list[Hit] = []
        prefix = f"{under.rstrip('/')}/" if under else ""
        for path in self.paths:
            if not (path.startswith(prefix) or path == under) or len(hits) >= limit:
                continue
            found = _text_of(self._checkout, path)
            if found is None or text not in found:
                continue
            lines = enumerate(found.splitlines(), start=1)
            hits += [Hit(path=path, line=number, text=line) for number, line in lines if text in line]
        return tuple(hits[:limit])

    def run(self, argv: Sequence[str], *, timeout_s: float = 120.0) -> CommandResult:
        self._tell(argv)
        limits = replace(self.supplies.limits, wall_s=timeout_s)
        return self.run_program(lambda _: Program(argv=tuple(argv), limits=limits))

    def _tell(self, argv: Sequence[str]) -> None:
        if self.supplies.told:
            self.supplies.told(argv)

    def run_program(self, program_for: Callable[[Inside], Program]) -> CommandResult:
        """Runs a program as `run` does a command; `program_for` is told what it will see."""
        checkout = self._checkout
        built, sandbox = self._built, self.supplies.sandbox
        with spare_folder(self.supplies.scratch) as folder:
            outbox = folder / "out"
            outbox.mkdir()
            testbed = sandbox.guest(checkout, checkout=checkout, outbox=outbox)
            seen = Inside(checkout=testbed, outbox=sandbox.guest(outbox, checkout=checkout, outbox=outbox))
            program = program_for(seen)
            for path, text in program.files.items():
                _put(outbox, path, text)
            own = tuple(_own_place(outbox, *pair) for pair in program.writable.items())
            row = built.environment
            env = process_env((*FIXED_ENV, *row.env, "PYTHONDONTWRITEBYTECODE=1"), built, testbed, row.source_roots)
            job = Job(
                argv=program.argv,
                checkout=checkout,
                outbox=outbox,
                env=env | dict(program.env),
                mounts=_distinct((*own, *environment_mounts(built), *program.mounts)),
                limits=program.limits,
                log=folder / "log",
                python=row.python,
            )
            finished = sandbox.run(job)
            return _ran(finished, _log(job.log))

    def run_tests(self, files: Sequence[str], cases: Sequence[str] = ()) -> Tested:
        built, sandbox = self._built, self.supplies.sandbox
        row = built.environment
        with spare_folder(self.supplies.scratch) as folder:
            checkout, outbox = self._fresh(folder), folder / "out"
            outbox.mkdir()
            runner_job = RunnerJob(
                kind=row.runner,
                files=tuple(RepoPath(path) for path in files),
                test_args=row.test_args,
                cases=tuple(cases),
                source_roots=row.source_roots,
                tracer=Tracer.NONE,
            )
            env = (*FIXED_ENV, *row.env)
            job = runner_process(
                sandbox, built, runner_job, env=env, limits=self.supplies.limits,
                checkout=checkout, outbox=outbox, log=folder / "log",
            )  # fmt: skip
            seal = new_seal(outbox)
            finished = sandbox.run(job)
            report = read_report(outbox / REPORT, RunKey(""), seal, ())
            status = _status(finished, completed=report.completed)
            log = _log(job.log)
            report = report.settled(
                runner_job.files, report.complaint or log[-2000:],
                under_way=Outcome.TIMEOUT if finished.timed_out else Outcome.ERROR,
                cut=not report.completed or bool(report.complaint),
            )  # fmt: skip
            seen = tuple(
                case for case in report.cases if not cases or case.case_id in cases or case.phase is Phase.COLLECT
            )
            return Tested(status=status, cases=seen, log=log)

    @contextmanager
    def debug(self, path: str, case_id: str, limits: DebugLimits | None = None) -> Iterator[DebugSession]:
        row = self._built.environment
        case = DebugCase(
            kind=row.runner,
            path=RepoPath(path),
            case_id=CaseId(case_id),
            test_args=row.test_args,
            source_roots=row.source_roots,
        )
        with spare_folder(self.supplies.scratch) as folder:
            checkout = self._fresh(folder)
            with debugging(
                self.supplies.sandbox, self._built, case, checkout=checkout, folder=folder, limits=limits
            ) as session:
                yield session

    def _fresh(self, folder: Path) -> Path:
        """A checkout below `folder` as a run of tests finds it, with what was changed so far."""
        checkout = folder / "checkout"
        self.supplies.fill(checkout)
        complete(checkout, self._built)
        for change in self.changes():
            _put(checkout, change.path, change.after)
        return checkout

    def changes(self) -> tuple[Change, ...]:
        """What was changed so far, file by file."""
        if self._folder is not None:
            return changes_in(self._folder / "checkout", self._known, self.supplies.read_base, self._built.made)
        changes = []
        for path, text in self._written.items():
            data = self.base(path)
            changes.append(Change(path=path, before=None if data is None else to_text(data), after=text))
        return tuple(change for change in changes if change.before != change.after)

    def diff(self) -> str:
        return render(self.changes())

    @contextmanager
    def fork(self) -> Iterator[Workbench]:
        changed = {change.path: change.after for change in self.changes()}
        with LocalWorkbench(self.supplies, changed) as bench:
            yield bench

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.paths)

    @cached_property
    def _built(self) -> BuiltEnvironment:
        return self.supplies.environment()

    @property
    def _checkout(self) -> Path:
        """The checkout, with what was written before it was made."""
        if self._folder is None:
            self._folder = self._folders.enter_context(spare_folder(self.supplies.scratch))
            checkout = self._folder / "checkout"
            self.supplies.fill_for_shell(checkout)
            complete(checkout, self._built)
            for path, text in self._written.items():
                _put(checkout, path, text)
        return self._folder / "checkout"

    def _unchecked(self, path: str) -> str | None:
        if path in self._written:
            return self._written[path]
        data = self.base(path)
        return None if data is None or b"\0" in data else to_text(data)


def _text_of(checkout: Path, path: str) -> str | None:
    """A text file of a checkout that untrusted code may have written: nothing is followed out of it."""
    found = checkout / path
    try:
        if not found.is_file() or not found.resolve().is_relative_to(checkout.resolve()):
            return None
        if found.stat().st_size > SEARCH_BYTES:
            return None
        data = found.read_bytes()
    except OSError:  # a folder on the way, or the file itself, was closed to its owner
        return None
    return None if b"\0" in data else to_text(data)


def _put(checkout: Path, path: str, text: str | None) -> None:
    """Writes or removes one file. `BadInput` where a link is on the way, or something that is no folder."""
    target, hint = checkout / path, "write to a plain file of the repository"
    try:
        if not target.parent.resolve().is_relative_to(checkout.resolve()) or target.is_symlink():
            raise BadInput(f"{path} goes through a link", hint=hint)
        if text is None:
            target.unlink(missing_ok=True)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(to_bytes(text))
    except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError before CPython 3.13
        if isinstance(error, OSError) and error.errno in OF_THE_DISK:
            raise
        raise BadInput(f"{path} cannot be written: {error}", hint=hint) from error


def _own_place(outbox: Path, guest: str, name: str) -> Mount:
    folder = outbox / name
    folder.mkdir(parents=True, exist_ok=True)
    return Mount(folder, PurePosixPath(guest), writable=True)


def _distinct(mounts: tuple[Mount, ...]) -> tuple[Mount, ...]:
    """The first mount at each place: agents may share their CPython with the tests."""
    return tuple({mount.guest: mount for mount in reversed(mounts)}.values())[::-1]


def _status(finished: Finished, *, completed: bool) -> RunStatus:
    if completed:
        return RunStatus.COMPLETED
    if finished.timed_out:
        return RunStatus.TIMEOUT
    return RunStatus.LIMIT if finished.limit else RunStatus.CRASHED


def _ran(finished: Finished, output: str) -> CommandResult:
    return CommandResult(
        exit_code=finished.exit_code, output=output, timed_out=finished.timed_out, seconds=finished.wall_s
    )


def _log(path: Path) -> str:
    if not path.exists():
        return ""
    return without_middle(path.read_bytes().decode("utf-8", "replace"), OUTPUT_CHARACTERS)
