"""Generate Tests: where nobody hands in tests, a sub-agent writes some from the issue (the TDFlow paper, section 3.4).

It reads the repository like the others and runs the tests that it thinks of; it hands in a patch with the place and the
name of each. Afterwards nobody changes them: what is wrong with them stays wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tasks.adapters.patch.model import Refused
from tasks.adapters.patch.read import read_patch
from tasks.adapters.patch.split import is_test_path
from tasks.adapters.workbench.base import Workbench
from tasks.domain.errors import BadInput
from tasks.domain.method_task import MethodTask
from tasks.domain.names import content_key
from tasks.domain.outcome import RunStatus
from tasks.domain.repair import SubAgent
from tasks.methods.conversation import Unusable
from tasks.methods.edits.outline import outline
from tasks.methods.replay_log import ReplayLog
from tasks.methods.replies.diffs import diffs_in
from tasks.methods.tools import ModelTool, SubmitTool, tool_spec
from tasks.repair.exploring import Explorer, folder
from tasks.repair.prompts import prompt
from tasks.repair.sub_agents import SubAgents
from tasks.repair.suite import CaseSeen, SuiteRun, TargetTests, put

MESSAGE, LOG = 2_000, 4_000
"""Characters of one test's message, and of what a run printed where it has no tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTest:
    """Where a test is: `tests/test_a.py:12 TestX.test_y`."""

    path: str
    line: int
    name: str

    @staticmethod
    def of(text: str) -> NamedTest:
        place, _, name = text.strip().partition(" ")
        path, _, line = place.rpartition(":")
        if not path or not line.isdigit() or not name.strip():
            raise Unusable(
                "no-place", f"{text.strip()!r} is not of the form PATH:LINE NAME, `tests/test_a.py:12 test_b`."
            )
        return NamedTest(path=path, line=int(line), name=name.strip())


@dataclass(slots=True, kw_only=True)
class ReproductionWriter:
    """The work on one issue. `Unusable` is what the sub-agent is told."""

    name: str
    """Of the tests, as `TargetTests` has it."""
    task: MethodTask
    bench: Workbench
    """Stays as it is: runs are made on forks of it."""
    journal: ReplayLog
    runs: dict[str, SuiteRun] = field(default_factory=dict)
    """By the patch that was evaluated."""
    tests: TargetTests | None = None
    """What was handed in."""

    def work(self, agents: SubAgents) -> str:
        """The patch that was handed in; empty for none."""
        with self.bench.fork() as bench:
            opening = prompt("generate.j2", task=self.task, listing=folder(bench))
            tools = {_EVALUATE.name: ModelTool(_EVALUATE, self.evaluate_tests), **Explorer(bench).tools}
            submission = SubmitTool(_SUBMIT, lambda patch, tests: self.submit(patch, tests))
            turns = agents.limits.generate_turns
            return agents.work(SubAgent.GENERATE_TESTS, 0, opening, tools, submission, turns) or ""

    def evaluate_tests(self, patch: str, tests: str = "") -> str:
        """How the tests of a patch run on the code as it is; of all its files where none are named."""
        text = self._text(patch)
        run = self._run(text)
        names = {line.strip().rpartition(" ")[2] for line in tests.splitlines() if line.strip()}
        cases = [case for case in run.cases if not names or {case.qualname, case.case_id} & names or not case.collected]
        told = [f"The run: {run.status.value}.", *map(_line, cases)]
        if unseen := sorted(names - {name for case in cases for name in (case.qualname, case.case_id)}):
            told.append(f"Not among the tests that ran: {', '.join(unseen)}.")
        return "\n".join(told if cases else [*told, run.log[-LOG:]])

    def submit(self, patch: str, tests: str) -> str:
        text = self._text(patch)
        if (run := self.runs.get(text)) is None:
            raise Unusable("not-evaluated", "Run exactly this patch with evaluate_tests before you hand it in.")
        if run.status is not RunStatus.COMPLETED:
            raise Unusable("run-incomplete", f"Its run did not come to its end: {run.status.value}.")
        given = self._given(text)
        cases = self._cases(given, run, [NamedTest.of(line) for line in tests.splitlines() if line.strip()])
        if not any(case.fails for case in cases):
            raise Unusable("nothing-fails", "None of these tests fails now, so they do not reproduce the issue.")
        wanted = frozenset(name for case in cases for name in case.names)
        self.tests = replace(given, fail_to_pass=wanted)
        return text

    def _text(self, patch: str) -> str:
        text = next(iter(diffs_in(patch)), patch)
        read = read_patch(text)
        if isinstance(read, Refused):
            raise Unusable("cannot-be-placed", f"It is no unified diff that can be read: {read.detail}.")
        if touched := sorted({path for file in read.files for path in file.paths if not is_test_path(path)}):
            raise Unusable("touches-code", f"It changes {', '.join(touched)}, and only tests are asked for.")
        return text

    def _given(self, text: str) -> TargetTests:
        try:
            return TargetTests.of_patch(self.name, text, self.bench.base, None)
        except BadInput as error:
            raise Unusable("cannot-be-placed", str(error)) from error

    def _run(self, text: str) -> SuiteRun:
        given, asked = self._given(text), content_key("tests", text)

        def see() -> object:
            with self.bench.fork() as bench:
                put(bench, given.changes)
                return SuiteRun.of(bench.run_tests(given.files)).facts

        run = SuiteRun.of_facts(self.journal.once(f"evaluate {asked}", asked, see))
        self.runs[text] = run
        return run

    def _cases(self, given: TargetTests, run: SuiteRun, places: list[NamedTest]) -> list[CaseSeen]:
        """The cases of tests that are where they are said to be, each with a line of its own."""
        if not places or len({(place.path, place.line) for place in places}) < len(places):
            raise Unusable("no-place", "Name each test once, PATH:LINE NAME, each on a line of its own.")
        after = {change.path: change.after or "" for change in given.changes}
        found: list[CaseSeen] = []
        for place in places:
            read = outline(after.get(place.path, ""))
            known = read.definitions if read else ()
            if not any(one.name == place.name and one.covers(place.line) for one in known):
                raise Unusable("no-such-test", f"{place.name} is not at {place.path}:{place.line} of your patch.")
            inside = [case for case in run.cases if (case.path, case.qualname) == (place.path, place.name)]
            if not inside:
                raise Unusable("did-not-run", f"{place.path} {place.name} is not among the tests that ran.")
            found += inside
        return found


def _line(case: CaseSeen) -> str:
    said = f"\n{case.message[:MESSAGE]}" if case.message and not case.passed else ""
    ended = "passes" if case.passed else "fails" if case.fails else "is expected to fail"
    return f"{case.case_id}: {ended}{said}"


_PATCH = "Unified diff against the repository as it is, of test files only."
_EVALUATE = tool_spec(
    "evaluate_tests", "Runs tests on the code as it is, and says how each ended.", ["patch"],
    patch=_PATCH, tests="Names of the tests that you want to hear of, one a line; all by default.",
)  # fmt: skip
_SUBMIT = tool_spec(
    "submit_tests", "Hand in the tests. Ends the work.", ["patch", "tests"],
    patch=_PATCH, tests="Each test on a line: PATH:LINE NAME, as in `tests/test_a.py:12 TestX.test_y`.",
)  # fmt: skip
