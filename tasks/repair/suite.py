"""The tests that a repair works towards: where they are put, how they ran, what of them still fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from tasks.adapters.patch.apply import ReadBase, apply_stored
from tasks.adapters.patch.model import Refused
from tasks.adapters.patch.render import Change
from tasks.adapters.patch.runnable import files_that_run
from tasks.adapters.workbench.base import Tested, Workbench
from tasks.domain.errors import BadInput, NotFound, SandboxError
from tasks.domain.names import content_key
from tasks.domain.outcome import FAILURES, Outcome, Phase, RunStatus
from tasks.domain.pairing import paired, place_name
from tasks.methods.edits.outline import outline
from tasks.methods.replay_log import ReplayLog

_NO_END = "see whether `swt validate` finds the instance's environment in order"
SOURCE_LINES = 200
"""Of a test file, where the test cannot be told in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetTests:
    """A test patch to work with."""

    name: str
    """`golden`, or `METHOD@MODEL` of a candidate."""
    patch: str
    """As it was handed in: what it adds may be read by whoever works with it."""
    changes: tuple[Change, ...]
    files: tuple[str, ...]
    """Those of them that run."""
    fail_to_pass: frozenset[str] | None
    """Which of their cases are to pass, as the source of human-written tests says; null where nobody does: then all
    that fail."""

    @staticmethod
    def of_patch(name: str, patch: str, read_base: ReadBase, fail_to_pass: Iterable[str] | None) -> TargetTests:
        """`BadInput` where it does not apply to the base commit, or where none of it runs."""
        changes = changes_of(f"the tests of {name}", patch, read_base, hint="take others with --tests")
        files = files_that_run(changes, helpers=True)
        if not files:
            raise BadInput(f"the tests of {name} have no file that runs", hint="take others with --tests")
        wanted = None if fail_to_pass is None else frozenset(fail_to_pass)
        return TargetTests(name=name, patch=patch, changes=changes, files=files, fail_to_pass=wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSeen:
    """One test in one run."""

    path: str
    case_id: str
    qualname: str
    label: str
    passed: bool
    collected: bool
    """Whether it is a test, and not a file that cannot be collected."""
    message: str
    failed: bool | None = None
    """As the grader `paper` counts: failed, error or timeout. Null in rows from before it was recorded: see `fails`."""
    place: int | None = None
    """Position among the cases of its function."""

    @property
    def fails(self) -> bool:
        return not self.passed if self.failed is None else self.failed

    @property
    def names(self) -> tuple[str, ...]:
        """Its id, and by its place, since the id may differ between processes."""
        return (self.case_id,) if self.place is None else (self.case_id, place_name(self))

    @property
    def known_as(self) -> tuple[str, ...]:
        return (*self.names, self.label)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRun:
    """All tests in one run."""

    status: RunStatus
    cases: tuple[CaseSeen, ...]
    log: str
    skipping: tuple[str, ...] = ()
    """Files with a test that was skipped."""
    skipped: tuple[str, ...] = ()
    """Ids of the tests that were."""

    @property
    def facts(self) -> dict[str, Any]:
        """As JSON takes it."""
        return asdict(self)

    @staticmethod
    def of_facts(facts: Mapping[str, Any]) -> SuiteRun:
        cases = tuple(CaseSeen(**one) for one in facts["cases"])
        return SuiteRun(
            status=RunStatus(facts["status"]),
            cases=cases,
            log=facts["log"],
            skipping=tuple(facts.get("skipping", ())),
            skipped=tuple(facts.get("skipped", ())),
        )

    @staticmethod
    def of(tested: Tested) -> SuiteRun:
        cases = (
            CaseSeen(
                path=case.path,
                case_id=case.case_id,
                qualname=case.qualname,
                label=case.label,
                passed=case.outcome is Outcome.PASSED,
                failed=case.outcome in FAILURES,
                place=case.place,
                collected=case.phase is not Phase.COLLECT,
                message=case.message,
            )
            for case in tested.cases
            if case.outcome is not Outcome.SKIPPED
        )
        skipped = [case for case in tested.cases if case.outcome is Outcome.SKIPPED]
        return SuiteRun(
            status=tested.status,
            cases=tuple(cases),
            log=tested.log,
            skipping=tuple(sorted({str(case.path) for case in skipped})),
            skipped=tuple(case.case_id for case in skipped),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TestGoal:
    """What a run on the base commit came to: the tests that have to pass, and those that must not come to fail."""

    targets: tuple[CaseSeen, ...]
    guarded: tuple[CaseSeen, ...]

    @staticmethod
    def of(run: SuiteRun, tests: TargetTests) -> TestGoal:
        wanted = tests.fail_to_pass
        failing = [case for case in run.cases if case.fails]
        if wanted is not None:
            failing = [case for case in failing if not case.collected or not wanted.isdisjoint(case.known_as)]
        return TestGoal(targets=tuple(failing), guarded=tuple(case for case in run.cases if not case.fails))

    def failing(self, run: SuiteRun) -> tuple[CaseSeen, ...]:
        """Targets that do not pass in a run, with what it says of them."""
        now = self._now(run)
        found: list[CaseSeen] = []
        for case in self.targets:
            if case.collected:
                seen = now.get(case.case_id)
                found += [_gone(case, run)] if seen is None else [] if seen.passed else [seen]
            else:  # a file that could not be collected: its tests, if it has any, are only known once it can be
                inside = [one for one in run.cases if one.path == case.path]
                ran = inside or (run.status is RunStatus.COMPLETED and case.path not in run.skipping)
                found += [one for one in inside if one.fails] if ran else [_gone(case, run)]
        return tuple(dict.fromkeys(found))

    def broken(self, run: SuiteRun) -> tuple[CaseSeen, ...]:
        """Guarded tests that fail or are missing. One that is skipped throws no error."""
        now = self._now(run)
        found: list[CaseSeen] = []
        for case in self.guarded:
            seen = now.get(case.case_id)
            if seen is None and case.case_id not in run.skipped:
                found.append(_gone(case, run))
            elif seen is not None and seen.fails:
                found.append(seen)
        return tuple(dict.fromkeys(found))

    def _now(self, run: SuiteRun) -> dict[str, CaseSeen]:
        """The cases of a run under the ids that they have in the run on the base commit."""
        same = paired((*self.targets, *self.guarded), run.cases)
        return {same.get(case.case_id) or case.case_id: case for case in run.cases}


def _gone(case: CaseSeen, run: SuiteRun) -> CaseSeen:
    return CaseSeen(
        path=case.path,
        case_id=case.case_id,
        qualname=case.qualname,
        label=case.label,
        passed=False,
        collected=False,
        message=f"It did not run (the run: {run.status.value}). The end of what was printed:\n{run.log[-2000:]}",
    )


def changes_of(what: str, patch: str, read_base: ReadBase, *, hint: str = "") -> tuple[Change, ...]:
    """What a patch makes of files of the base commit. `BadInput` where it cannot be applied."""
    applied = apply_stored(patch, read_base)
    if isinstance(applied, Refused):
        raise BadInput(f"{what} cannot be placed: {applied.detail}", hint=hint)
    return applied.changes


def put(bench: Workbench, changes: Iterable[Change]) -> None:
    """Write what a patch changes into a bench."""
    for change in changes:
        bench.write(change.path, change.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """Runs of the given tests on changes of the base commit, each of them made once for a journal."""

    bench: Workbench
    """Stays as it is: runs are made on forks of it."""
    tests: TargetTests
    journal: ReplayLog

    def goal(self) -> TestGoal:
        """What has to pass, and what has to stay as it is. `SandboxError` where the tests do not run to their end on
        the base commit, `NotFound` where none of them fails."""
        goal = TestGoal.of(self.run("base", ()), self.tests)
        if not goal.targets:
            raise NotFound(
                f"no test of {self.tests.name} fails on the base commit, so there is nothing to work towards",
                hint="take other tests with --tests",
            )
        return goal

    def run(self, name: str, changes: tuple[Change, ...]) -> SuiteRun:
        """All tests, with these changes."""

        def see() -> object:
            with self.fork(changes) as bench:
                run = SuiteRun.of(bench.run_tests(self.tests.files))
            if not changes and run.status is not RunStatus.COMPLETED:
                said = run.log.strip()[-500:] or "nothing was printed"
                raise SandboxError(f"the tests did not run to their end ({run.status.value}): {said}", hint=_NO_END)
            return run.facts

        asked = content_key("changes", [[one.path, one.after] for one in changes])
        return SuiteRun.of_facts(self.journal.once(f"tests {name}", asked, see))

    @contextmanager
    def fork(self, changes: tuple[Change, ...]) -> Iterator[Workbench]:
        """A bench with these changes and the tests in place: nothing that a patch does to a test file counts."""
        with self.bench.fork() as bench:
            put(bench, changes)
            put(bench, self.tests.changes)
            yield bench


def source_of(bench: Workbench, case: CaseSeen) -> str:
    """The text of a test; the head of its file where it cannot be told apart in it."""
    text = bench.read(case.path) or ""
    read = outline(text)
    for place in read.definitions if read and case.qualname else ():
        if place.name == case.qualname:
            lines = read.lines if read else []
            return "".join(lines[place.start - 1 : place.end])
    return "".join(text.splitlines(keepends=True)[:SOURCE_LINES])
