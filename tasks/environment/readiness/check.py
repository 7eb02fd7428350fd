"""Checks whether an environment is ready for an instance.

Collects the tests in a sandbox, on the base commit and on the fixed code, and determines the cause of errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from tasks.adapters.patch.apply import ReadBase, apply_stored
from tasks.adapters.patch.links import LinkChange
from tasks.adapters.patch.model import Refused
from tasks.adapters.patch.read import to_bytes
from tasks.adapters.patch.render import Change
from tasks.adapters.patch.runnable import files_that_run
from tasks.adapters.patch.split import Kind, kind_of
from tasks.adapters.runner.collect import Collected, Collection, State
from tasks.domain.environment import Cause, DrivenCase, Environment, Readiness
from tasks.domain.instance import TaskInstance
from tasks.domain.names import RepoPath, content_key
from tasks.domain.outcome import CodeState, RunnerKind, SandboxKind
from tasks.environment.project_files.requirements import name_of
from tasks.environment.readiness.build_problems import BuildProblem, first_trouble, tail, wanted_by_skips
from tasks.environment.readiness.late_imports import wanted_by_imports
from tasks.environment.readiness.plugins import KNOWN_FIXTURES

DATA_KINDS = (Kind.HELPER, Kind.DATA)
DOCUMENTS = frozenset({".txt", ".rst", ".md", ".yml", ".yaml", ".test", ".ipynb"})
"""Suffixes of files that pytest or a plugin may collect, besides Python."""
MANY_DOCUMENTS = 4
"""Maximum number of such files; each is collected separately."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRequirements:
    """The requirements of an instance for its environment."""

    __test__ = False  # pytest would collect a class of this name

    before: tuple[RepoPath, ...]
    """Test files of the base commit that the golden tests change."""
    after: tuple[RepoPath, ...]
    """Golden test files."""
    changes: tuple[Change, ...]
    """The golden patch and the golden tests."""
    data: tuple[RepoPath, ...] = ()
    """Files in test folders that the golden tests add or change; empty if any of them is a test module by its name."""
    links: tuple[LinkChange, ...] = ()
    """Symbolic links of the golden patch and the golden tests."""

    def watching(self, drivers: tuple[RepoPath, ...], packages: Iterable[str]) -> tuple[State, ...]:
        """Returns the states for a data-driven suite, to find out which cases of `drivers` read the data."""
        alone = tuple(path for path in self.data if PurePosixPath(path).suffix in DOCUMENTS)[:MANY_DOCUMENTS]
        after = State(
            name=CodeState.AFTER,
            files=drivers,
            packages=tuple(packages),
            changes=self.changes,
            links=self.links,
            watch=self.data,
            alone=alone,
        )
        return State(name=CodeState.BEFORE, files=drivers, alone=alone), after

    @property
    def sources(self) -> tuple[str, ...]:
        """The golden test files after the golden tests are applied."""
        left = {change.path: change.after for change in self.changes}
        return tuple(text for path in self.after if (text := left.get(path)) is not None)

    def states(self, packages: Iterable[str]) -> tuple[State, ...]:
        """Returns the states to collect: the base commit first, if it has any of the files."""
        before = State(name=CodeState.BEFORE, files=self.before)
        after = State(
            name=CodeState.AFTER,
            files=self.after,
            packages=tuple(packages),
            changes=self.changes,
            links=self.links,
        )
        return (before, after) if self.before else (after,)


def demand(instance: TaskInstance, read_base: ReadBase) -> TestRequirements | Refused:
    """Returns what to collect for an instance; a refusal if its patches do not apply to its base commit."""
    golden = apply_stored(instance.patch, read_base)
    if isinstance(golden, Refused):
        return golden
    fixed = {change.path: change.after for change in golden.changes}
    tests = apply_stored(instance.test_patch, lambda path: _of(fixed, path, read_base))
    if isinstance(tests, Refused):
        return tests
    files = files_that_run(tests.changes, helpers=True)
    left = [change.path for change in tests.changes if change.after is not None]
    kinds = {path: kind_of(path) for path in left}
    data = () if Kind.MODULE in kinds.values() else tuple(path for path in left if kinds[path] in DATA_KINDS)
    changed = {change.path: change for change in (*golden.changes, *tests.changes)}
    return TestRequirements(
        before=tuple(path for path in files if read_base(path) is not None),
        after=files,
        changes=tuple(changed.values()),
        data=tuple(RepoPath(path) for path in data if PurePosixPath(path).name != "__init__.py"),
        links=tuple({link.path: link for link in (*golden.links, *tests.links)}.values()),
    )


def _of(fixed: dict[str, str | None], path: str, read_base: ReadBase) -> bytes | None:
    if path not in fixed:
        return read_base(path)
    text = fixed[path]
    return None if text is None else to_bytes(text)


def own_packages(changes: Iterable[Change], source_roots: Iterable[str], read_base: ReadBase) -> tuple[str, ...]:
    """Returns the importable packages that contain the changed files of an instance, without tests."""
    found: dict[str, None] = {}
    for root in sorted(source_roots, key=len, reverse=True):
        prefix = f"{root.strip('/')}/" if root.strip("/") else ""
        for path in (change.path for change in changes if change.path.startswith(prefix)):
            top = path.removeprefix(prefix).split("/")[0]
            if top not in _NOT_PROJECT and read_base(f"{prefix}{top}/__init__.py") is not None:
                found[top] = None
    return tuple(found)


_NOT_PROJECT = frozenset({"test", "tests", "testing", "doc", "docs", "examples", "benchmarks"})


CHECK_VERSION = "b1554bd1a21443bdd6e7952a777fb60e"
"""Part of the key of a stored readiness. Change it when the same inputs can give another readiness.

A hash of the source would repeat every check after a renamed import. A test checks that the code is unchanged instead.
"""


def readiness_key(instance: TaskInstance, environment: Environment, sandbox: SandboxKind) -> str:
    """Returns the content key of a readiness."""
    return content_key("readiness", CHECK_VERSION, instance.instance_key, environment.env_id, sandbox.value)


def judge(collection: Collection, own: Iterable[str], *, fixtures: bool) -> BuildProblem | None:
    """Returns the problem of the environment; None if it is ready.

    With `fixtures`, missing fixtures of known plugins are a problem too. Recipes may omit plugins intentionally: tests
    fail without them in the benchmark's images as well.
    """
    finished = collection.finished
    if finished.timed_out or finished.limit:
        what = finished.limit or "time"
        return BuildProblem(Cause.LIMIT, (what,), tail(collection.log) or f"the {what} limit ended it")
    if not collection.states:
        return first_trouble([collection.log or f"exit code {finished.exit_code} and not a word"], tuple(own))
    complaints = [_with_log(text, collection.log) for one in reversed(collection.states) for text in _complaints(one)]
    return first_trouble(complaints, tuple(own)) or (_missing_fixtures(collection.states) if fixtures else None)


def wanting(
    collection: Collection, sources: Iterable[str], environment: Environment, declared: Iterable[str]
) -> BuildProblem | None:
    """Returns distributions that the project declares and whose absence affects tests of the fixed code.

    These are distributions without which tests skip, or which tests import in their bodies. The environment can be used
    without them. `sources` are the texts of these tests; `declared` are the normalised names of all declared
    requirements. Returns None if no distribution is missing.
    """
    reasons = [text for one in collection.states if one.name == CodeState.AFTER for text in one.skips]
    named, installed = frozenset(declared), frozenset(name_of(line) for line in environment.lock.splitlines())
    imported = wanted_by_imports(sources, named, installed)
    names = tuple(dict.fromkeys((*wanted_by_skips(reasons, named, installed), *imported)))
    said = [*reasons, *(f"a test imports {name}" for name in imported)]
    return BuildProblem(Cause.SKIPS, names, tail("\n".join(said))) if names else None


def driven_cases(
    instance: TaskInstance, environment: Environment, states: Sequence[Collected]
) -> tuple[DrivenCase, ...]:
    """Returns the cases that read an instance's data, as observed in the collections of both states."""
    before = next((one.ids for one in states if one.name == CodeState.BEFORE), frozenset())
    after = next((one.readers for one in states if one.name == CodeState.AFTER), ())
    rows = []
    for reader in after:
        path = RepoPath(reader.case_id.partition("::")[0])
        by_node = environment.runner is RunnerKind.PYTEST and reader.found_by not in ("module", "collected")
        rows.append(
            DrivenCase(
                instance_key=instance.instance_key,
                instance_id=instance.instance_id,
                env_id=environment.env_id,
                case_id=reader.case_id,
                path=path,
                argument=reader.case_id if by_node else path,
                data=reader.opened,
                found_by=reader.found_by,
                at_base=reader.case_id in before,
            )
        )
    return tuple(rows)


def _complaints(found: Collected) -> tuple[str, ...]:
    """Returns the errors, the most informative first: a project that cannot be imported explains all others."""
    return (*found.packages.values(), found.complaint, *found.files.values())


def _with_log(text: str, log: str) -> str:
    """Adds the end of the log if the error is only an exit code, since the log then contains the cause."""
    return f"{tail(log)}\n{text}" if "ended with exit code" in text[:200] or text.startswith("exit code") else text


def _missing_fixtures(states: Iterable[Collected]) -> BuildProblem | None:
    """Returns missing fixtures of known plugins. Other fixtures may be missing on purpose."""
    names = {name for one in states for name in one.fixtures} & KNOWN_FIXTURES.keys()
    if not names:
        return None
    listed = tuple(sorted(names))
    return BuildProblem(Cause.MISSING_PLUGIN, listed, f"fixture {', '.join(listed)} not found")


def readiness_row(
    instance: TaskInstance,
    environment: Environment,
    sandbox: SandboxKind,
    found: Collection,
    trouble: BuildProblem | None,
) -> Readiness:
    """Returns the row to store."""
    return Readiness(
        readiness_key=readiness_key(instance, environment, sandbox),
        instance_key=instance.instance_key,
        instance_id=instance.instance_id,
        env_id=environment.env_id,
        ready=trouble is None or trouble.is_bearable,
        cause=str(trouble.cause) if trouble else "",
        names=trouble.names if trouble else (),
        detail=trouble.detail if trouble else "",
        cases=next((one.cases for one in found.states if one.name == CodeState.AFTER), 0),
        wall_s=round(found.finished.wall_s, 3),
        cpu_s=found.finished.cpu_s,
        checked_at=datetime.now(UTC),
    )


def trouble_of(row: Readiness) -> BuildProblem | None:
    """Returns the problem that a stored row records."""
    return BuildProblem(Cause(row.cause), row.names, row.detail) if row.cause else None
