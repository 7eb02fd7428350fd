"""A scripted model for TDFlow's sub-agents: it knows the fix on its second iteration only."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.typed_commands import TYPED
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.patch.model import Patch, Refused
from tasks.adapters.patch.read import read_patch
from tasks.methods.edits.outline import outline
from tasks.rehearsal.scripted_model import calling
from tasks.rehearsal.scripted_provider.script import Step

DEBUGGING, WRITING, TRIED = "debugger is stopped", "write tests that reproduce", "patches were tried before"
"""In what Debug One, Generate Tests and a later Explore Files are told first."""


@dataclass(frozen=True)
class Tests:
    """Tests that reproduce the issue."""

    patch: str
    after: Mapping[str, str]
    """Text by path, with the patch applied."""

    def failing(self, ran: str) -> str:
        """`PATH:LINE NAME` of each that fails, by what `evaluate_tests` says of the run."""
        failed = [line.removesuffix(": fails") for line in ran.splitlines() if line.endswith(": fails")]
        read = {path: outline(text) for path, text in self.after.items()}
        return "\n".join(
            f"{path}:{place.head} {place.name}"
            for path, definitions in read.items()
            for place in (definitions.places if definitions else ())
            if place.simple.startswith("test") and any(_names(case, path, place.name) for case in failed)
        )


def _names(case: str, path: str, name: str) -> bool:
    """Whether a case's id, of whichever runner, is that of a definition: `a/b.py::T::t[1]`, `b.T.t`, `a/b.py::t`."""
    bare = case.partition("[")[0].replace("::", ".")
    module = path.removesuffix(".py").replace("/", ".")
    return bare == f"{path}.{name}" or f"{module}.{name}".endswith(f".{bare}") or bare.endswith(f"{module}.{name}")


@dataclass(frozen=True)
class KnowsItLater:
    """The model, for one instance."""

    golden: str
    tests: Tests | None = None
    """What Generate Tests hands in; without them the model is not asked to write tests."""

    def __call__(self, call: ClientRequest) -> Step:
        opening = call.messages[0].text
        turn = sum(bool(message.tool_calls) for message in call.messages)
        time.sleep(0.05)  # so that a kill may come while a question is under way
        return Step(reply=calling(call_id=f"c{turn}", **self.said(opening, turn, call.messages[-1].text)))

    def said(self, opening: str, turn: int, last: str) -> dict[str, str]:
        if WRITING in opening:
            assert self.tests is not None
            if turn == 0:
                return {"name": "evaluate_tests", "patch": self.tests.patch}
            return {"name": "submit_tests", "patch": self.tests.patch, "tests": self.tests.failing(last)}
        if DEBUGGING in opening:
            if turn < len(TYPED):
                return {"name": "debugger", "command": TYPED[turn][0].format(place=self.place)}
            return {"name": "submit_report", "report": f"In the end the debugger says: {last}"}
        if "cannot be applied" in opening:
            return {"name": "submit_patch", "patch": self.useless(malformed=False)}
        if TRIED in opening:
            return {"name": "submit_patch", "patch": self.golden}
        if turn == 0:
            return {"name": "find_keyword", "keyword": "def "}
        return {"name": "submit_patch", "patch": self.useless(malformed=True)}

    @property
    def place(self) -> str:
        """`FILE:LINE` of the first change inside something indented; the useless patch moves it by one."""
        for file in self._read().files:
            for hunk in file.hunks:
                old = hunk.old_start
                for line in hunk.lines:
                    if line[0] != " " and line[1:].startswith(" ") and line[1:].strip():
                        return f"{file.path}:{old + 1}"
                    old += line[0] != "+"
        return f"{self._read().files[0].path}:1"

    def useless(self, *, malformed: bool) -> str:
        """A comment below the first line of context in the golden patch."""
        read = self._read()
        lines = self.golden.splitlines()
        hunk = next(number for number, line in enumerate(lines) if line.startswith("@@"))
        start = int(lines[hunk].split("-")[1].split(",")[0].split()[0])
        context = lines[hunk + 1]
        path = read.files[0].path
        shown = " def nothing_of_the_kind():" if malformed else f" {context[1:]}"
        head = f"--- a/{path}\n+++ b/{path}\n@@ -{start},1 +{start},2 @@\n"
        return f"{head}{shown}\n+# nothing of this helps\n"

    def _read(self) -> Patch:
        read = read_patch(self.golden)
        assert not isinstance(read, Refused)
        return read
