"""TDFlow: a workflow of sub-agents from failing tests to a fix (the TDFlow paper, section 3).

    [Generate Tests ─► tests ─►] (generating.py)
    Explore Files ─► patch ─► applies? ─no─► Revise Patch ─► applies? ─no─┐
          ▲                      │yes                           │yes      │
          │                      ▼                              ▼         │
          └── reports ◄── Debug One, one per test ◄─fail─ all tests ◄─────┘ (nothing to run)
                                                            └─pass─► done

The model decides what a sub-agent looks at; what comes next is decided here. Every patch is against the base commit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tasks.adapters.patch.apply import Applied, apply_to_files
from tasks.adapters.patch.model import Reason, Refused, Rung
from tasks.adapters.patch.read import read_patch
from tasks.adapters.patch.render import Change
from tasks.adapters.patch.split import is_test_path
from tasks.adapters.workbench.base import Workbench
from tasks.domain.method_task import MethodTask
from tasks.domain.names import content_key
from tasks.domain.repair import RepairEnd, SubAgent
from tasks.methods.conversation import Unusable
from tasks.methods.replay_log import ReplayLog
from tasks.methods.replies.diffs import diffs_in
from tasks.methods.tools import SubmitTool, tool_spec
from tasks.repair.debugging import CaseDebugger
from tasks.repair.exploring import Explorer, folder
from tasks.repair.isolated_case import IsolatedResult, IsolationSearch
from tasks.repair.prompts import prompt
from tasks.repair.settings import TdflowLimits
from tasks.repair.sub_agents import SubAgents
from tasks.repair.suite import CaseSeen, SuiteRun, TargetTests, TestGoal, Trials, source_of

TARGET, GUARDED = "reproduction", "regression"


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchTried:
    """One iteration's patch."""

    iteration: int
    patch: str = ""
    changes: tuple[Change, ...] = ()
    rung: str = ""
    revised: bool = False
    problem: str = ""
    run: SuiteRun | None = None
    failing: tuple[CaseSeen, ...] = ()
    broken: tuple[CaseSeen, ...] = ()
    debugged: int = 0

    @property
    def passed(self) -> bool:
        return self.run is not None and not self.failing and not self.broken


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """How an attempt ended."""

    end: RepairEnd
    tried: tuple[PatchTried, ...] = ()

    @property
    def chosen(self) -> PatchTried | None:
        """The patch that passes most targets among those that break nothing, else the one that breaks the fewest; of
        equals the first."""
        ran = [one for one in self.tried if one.run is not None]
        return min(ran, key=lambda one: (len(one.broken), len(one.failing), one.iteration), default=None)


@dataclass(slots=True, kw_only=True)
class Tdflow:
    """One attempt at one instance. What happens is told as it happens; an error of ours ends it, and another one that
    is begun with the same journal goes on from there."""

    task: MethodTask
    tests: TargetTests
    bench: Workbench
    """Stays as it is: sub-agents and runs work on forks of it."""
    agents: SubAgents
    journal: ReplayLog
    patch: Callable[[PatchTried, TestGoal], None]
    lone: Callable[[int, CaseSeen, IsolatedResult], None]
    """Hears of every test that was run alone, with the iteration."""

    @property
    def limits(self) -> TdflowLimits:
        return self.agents.limits

    @property
    def trials(self) -> Trials:
        return Trials(bench=self.bench, tests=self.tests, journal=self.journal)

    def work(self) -> Worked:
        """Iterate until all tests pass, or no iteration is left.

        `SandboxError` where the tests do not run to their end on the base commit, `NotFound` where none of them fails.
        """
        goal = self.trials.goal()
        tried: list[PatchTried] = []
        earlier: list[dict[str, object]] = []
        for number in range(1, self.limits.iterations + 1):
            one, cases = self._iteration(number, goal, earlier)
            self.patch(one, goal)
            tried.append(one)
            if one.passed:
                return Worked(end=RepairEnd.PASSED, tried=tuple(tried))
            if one.patch:
                earlier.append({"patch": one.patch, "problem": one.problem, "cases": cases})
        return Worked(end=RepairEnd.ITERATIONS, tried=tuple(tried))

    def _iteration(
        self, number: int, goal: TestGoal, earlier: Sequence[dict[str, object]]
    ) -> tuple[PatchTried, list[tuple[CaseSeen, str, str, str]]]:
        """One patch, with the tests that it fails as the next Explore Files is shown them."""
        proposed = self._explore(number, goal, earlier)
        if proposed is None:
            return PatchTried(iteration=number, problem="Explore Files handed in no patch"), []
        applied, revised = self._placed(proposed, strict=True), False
        if isinstance(applied, Refused):
            mended = self._revise(number, proposed, applied)
            revised, proposed = True, mended or proposed
            applied = self._placed(proposed, strict=False)
        if isinstance(applied, Refused):
            problem = f"{applied.reason.value}: {applied.detail}"
            return PatchTried(iteration=number, patch=proposed, revised=revised, problem=problem), []
        run = self.trials.run(str(number), applied.changes)
        failing, broken = goal.failing(run), goal.broken(run)
        kinds = [(case, TARGET) for case in failing] + [(case, GUARDED) for case in broken]
        chosen = kinds[: self.limits.debugged]
        lone = self._alone(number, applied, run, [case for case, _ in chosen if case.collected])
        debugged = [(case, kind) for case, kind in chosen if case in lone and not lone[case].passed]
        found = dict(zip((case for case, _ in debugged), self._debug(number, applied, debugged, lone), strict=True))
        reports = [
            "\n\n".join(filter(None, (lone[case].said if case in lone else "", found.get(case, ""))))
            for case, _ in chosen
        ]
        with self.trials.fork(applied.changes) as bench:
            cases = [
                (case, kind, source_of(bench, case), report)
                for (case, kind), report in zip(chosen, reports, strict=True)
            ]
        return PatchTried(
            iteration=number,
            patch=applied.patch,
            changes=applied.changes,
            rung=applied.rung.value,
            revised=revised,
            run=run,
            failing=failing,
            broken=broken,
            debugged=len(debugged),
        ), cases

    def _explore(self, number: int, goal: TestGoal, earlier: Sequence[dict[str, object]]) -> str | None:
        with self.trials.fork(()) as bench:
            shown = goal.targets[: self.limits.debugged]
            text = prompt(
                "explore.j2",
                task=self.task,
                earlier=earlier,
                failing=[(case, TARGET, source_of(bench, case), "") for case in shown],
                left_out=len(goal.targets) - len(shown),
                listing=folder(bench),
            )
            submission = SubmitTool(_SUBMIT_PATCH, self._read_patch)
            return self.agents.work(
                SubAgent.EXPLORE_FILES, number, text, Explorer(bench).tools, submission, self.limits.explore_turns
            )

    def _revise(self, number: int, patch: str, refused: Refused) -> str | None:
        with self.trials.fork(()) as bench:
            text = prompt("revise.j2", task=self.task, patch=patch, problem=f"{refused.reason.value}: {refused.detail}")

            def read(patch_text: str) -> str:
                revised = self._read_patch(patch_text)
                if _inserted(revised) != _inserted(patch):
                    detail = "It inserts other lines than the patch that you were given. Keep them as they are."
                    raise Unusable("inserted-lines-changed", detail)
                if isinstance(found := self._placed(revised, strict=False), Refused):
                    raise Unusable("does-not-apply", f"It cannot be applied: {found.reason.value}: {found.detail}")
                return revised

            submission = SubmitTool(_SUBMIT_PATCH, lambda patch: read(patch))
            return self.agents.work(
                SubAgent.REVISE_PATCH, number, text, Explorer(bench).tools, submission, self.limits.revise_turns
            )

    def _alone(
        self, number: int, applied: Applied, run: SuiteRun, cases: Sequence[CaseSeen]
    ) -> dict[CaseSeen, IsolatedResult]:
        """What each of these tests does alone: a debugger sees nothing else."""
        found: dict[CaseSeen, IsolatedResult] = {}
        asked = content_key("changes", [[one.path, one.after] for one in applied.changes])
        for case in cases:

            def see(case: CaseSeen = case) -> object:
                with self.trials.fork(applied.changes) as bench:
                    earlier = run.cases[: run.cases.index(case)] if case in run.cases else ()
                    search = IsolationSearch(bench=bench, files=self.tests.files, case=case, earlier=earlier)
                    return search.find_out().facts

            name = f"alone {number} {case.case_id}"
            found[case] = IsolatedResult.of_facts(self.journal.once(name, asked, see))
            self.lone(number, case, found[case])
        return found

    def _debug(
        self,
        number: int,
        applied: Applied,
        chosen: Sequence[tuple[CaseSeen, str]],
        lone: Mapping[CaseSeen, IsolatedResult],
    ) -> list[str]:
        """A report for each test; empty where none was handed in."""

        def report(place: int) -> str:
            case, kind = chosen[place]
            return self._debug_one(number, place + 1, applied, case, kind, lone[case])

        with ThreadPoolExecutor(self.limits.at_once) as pool:
            return list(pool.map(report, range(len(chosen))))

    def _debug_one(
        self, number: int, place: int, applied: Applied, case: CaseSeen, kind: str, lone: IsolatedResult
    ) -> str:
        name = f"{number}.{place}"
        with self.trials.fork(applied.changes) as bench, self._debugger(bench, case, name) as debugger:
            text = prompt(
                "debug.j2",
                task=self.task,
                patch=applied.patch,
                case=case,
                kind=kind,
                source=source_of(bench, case),
                alone=lone.said,
                state=debugger.start(),
            )
            tools = {"debugger": debugger.tool, **Explorer(bench).tools}
            submission = SubmitTool(_SUBMIT_REPORT, lambda report: str(report))
            found = self.agents.work(
                SubAgent.DEBUG_ONE, number, text, tools, submission, self.limits.debug_turns, name, case.case_id
            )
            return found or ""

    def _debugger(self, bench: Workbench, case: CaseSeen, name: str) -> CaseDebugger:
        return CaseDebugger(bench, case.path, case.case_id, self.journal, f"debug {name}")

    def _read_patch(self, patch: str) -> str:
        """The diff in what was submitted. One that cannot be applied is taken: mending it is another's part."""
        text = next(iter(diffs_in(patch)), patch)
        read = read_patch(text)
        if isinstance(read, Refused):
            if read.reason in (Reason.EMPTY, Reason.NO_DIFF):
                raise Unusable(read.reason.value, f"There is no unified diff in it: {read.detail}.")
            return text
        own = {change.path for change in self.tests.changes}
        if touched := sorted({path for file in read.files for path in file.paths if is_test_path(path) or path in own}):
            detail = f"It touches tests: {', '.join(touched)}. Resolve the issue in the code under test."
            raise Unusable("touches-tests", detail)
        return text

    def _placed(self, patch: str, *, strict: bool) -> Applied | Refused:
        """A patch on the base commit; `strict` without any relaxation of the rules."""
        read = read_patch(patch)
        done = read if isinstance(read, Refused) else apply_to_files(read, self.bench.base)
        if strict and isinstance(done, Applied) and done.rung is not Rung.EXACT:
            return Refused(reason=Reason.DOES_NOT_APPLY, detail=f"headers or context do not fit ({done.rung.value})")
        return done


def _inserted(patch: str) -> Counter[str]:
    """The lines that a patch puts in, however wrong the rest of it is."""
    lines = patch.splitlines()
    return Counter(line[1:].rstrip() for line in lines if line.startswith("+") and not line.startswith("+++ "))


_SUBMIT_PATCH = tool_spec(
    "submit_patch",
    "Hand in the patch: a unified diff (`--- a/PATH`, `+++ b/PATH`) against the repository as it is. Ends the work.",
    ["patch"],
    patch="The whole unified diff.",
)
_SUBMIT_REPORT = tool_spec(
    "submit_report", "Hand in the report. Ends the work.", ["report"], report="What was found out."
)
