"""A workbench that tells a method that is begun again what it was told before, and runs only what is new."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from tasks.adapters.patch.render import Change
from tasks.adapters.workbench.base import CommandResult, Tested, Workbench
from tasks.adapters.workbench.local import LocalWorkbench, WorkspaceConfig
from tasks.adapters.workbench.tree_state import TreeDelta, TreeState, delta_of, restore, state_of
from tasks.domain.names import content_key
from tasks.domain.outcome import Outcome, Phase, RunStatus
from tasks.domain.run import CaseOutcome


class Seen(Protocol):
    """What work under way saw before, by name and by what was asked (`tasks.methods.replay_log`)."""

    def find(self, name: str, asked: str) -> Any: ...

    def keep(self, name: str, asked: str, seen: Any) -> None: ...


class JournaledWorkbench(LocalWorkbench):
    """See `Workbench`. A command that is in the journal is answered from there. What it left in the checkout is put
    back when that is needed: with the first command that is not, or when files are looked at."""

    def __init__(
        self, supplies: WorkspaceConfig, journal: Seen, changed: dict[str, str | None] | None = None, name: str = ""
    ) -> None:
        super().__init__(supplies, changed)
        self._journal = journal
        self._name = name
        self._counts = {"run": 0, "tests": 0, "fork": 0}
        self._asked = ""
        self._live = False
        """Whether a command was run: what the journal says of later ones started from another state."""
        self._pending: list[TreeDelta] = []
        """Of replayed commands; not in the checkout yet."""
        self._state: TreeState | None = None

    def read(self, path: str) -> str | None:
        self._settle()
        return super().read(path)

    def write(self, path: str, text: str | None) -> None:
        self._settle()
        super().write(path, text)

    def changes(self) -> tuple[Change, ...]:
        self._settle()
        return super().changes()

    def run(self, argv: Sequence[str], *, timeout_s: float = 120.0) -> CommandResult:
        name = self._next("run")
        self._asked = content_key("command", self._asked, list(argv), timeout_s)
        known = None if self._live else self._journal.find(name, self._asked)
        if known is not None:
            self._tell(argv)
            self._pending.append(known["left"])
            return CommandResult(**known["result"])
        self._live = True
        before = self._state or state_of(self._checkout)
        result = super().run(argv, timeout_s=timeout_s)
        self._state = state_of(self._checkout)
        left = delta_of(self._checkout, before, self._state)
        if left is not None:
            self._journal.keep(name, self._asked, {"result": asdict(result), "left": left})
        return result

    def run_tests(self, files: Sequence[str], cases: Sequence[str] = ()) -> Tested:
        """On the same files the same again: a run of tests starts from a fresh checkout."""
        changes = [[one.path, one.after] for one in self.changes()]
        name, asked = self._next("tests"), content_key("tests", list(files), changes, *filter(None, [list(cases)]))
        if (known := self._journal.find(name, asked)) is not None:
            return _tested(known)
        tested = super().run_tests(files, cases)
        self._journal.keep(name, asked, asdict(tested))
        return tested

    @contextmanager
    def fork(self) -> Iterator[Workbench]:
        changed = {change.path: change.after for change in self.changes()}
        with JournaledWorkbench(self.supplies, self._journal, changed, f"{self._next('fork')}: ") as bench:
            yield bench

    def _next(self, what: str) -> str:
        self._counts[what] += 1
        return f"{self._name}{what} {self._counts[what]}"

    def _settle(self) -> None:
        """Have the checkout, where replayed commands left something in it."""
        if self._pending:
            _ = self._checkout

    @property
    def _checkout(self) -> Path:
        checkout = super()._checkout
        if self._pending:
            restore(checkout, self._pending)
            self._pending.clear()
            self._state = None
        return checkout


def _tested(facts: Mapping[str, Any]) -> Tested:
    cases = (
        CaseOutcome(**one | {"phase": Phase(one["phase"]), "outcome": Outcome(one["outcome"])})
        for one in facts["cases"]
    )
    return Tested(status=RunStatus(facts["status"]), cases=tuple(cases), log=facts["log"])
