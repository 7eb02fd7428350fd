"""The contract between a stage and a method.

A method is a function: it gets an `Assignment`, a `Workbench`, a `Model` and a `MethodBudget`, and yields a `Proposal`
for each sample. It never sees an instance, so it cannot reach the golden side; docs/writing-a-method.md has an example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from tasks.adapters.llm.base import Model
from tasks.adapters.workbench.base import Workbench
from tasks.domain.errors import UsageError
from tasks.domain.generation import Mode
from tasks.domain.method_task import MethodTask
from tasks.domain.variant import CONTEXT_TOKENS, PARAMETERS, PLAIN, STEPS, Variant

READ_BY_METHODS = frozenset({"filter", "format", "samples", "test_command", "tools", "top_n", "validation"})
"""Parameters that change something only of methods that read them."""
LOCATING = frozenset({"locate", "top_n"})
"""Those of the agent that finds the context."""
SHOWN_FILES = frozenset({"context", "context_tokens"})
"""Those of the files that a method is shown."""
CALLS_A_SAMPLE = 3
"""At most: one for the sample, two for the verdict on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFile:
    """A file of the base commit that goes into a prompt."""

    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CodePatch:
    """A fix that somebody proposes. Only experiments hand one out (the paper's Table 5)."""

    text: str
    correct: bool
    """Whether it is the golden one. Methods must not show this to a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What is asked of a method."""

    task: MethodTask
    context: tuple[ContextFile, ...] = ()
    """Retrieved files, best first; or the files that `code_patch` changes."""
    mode: Mode = Mode.UNIT_TEST
    test_file: ContextFile | None = None
    """The file to put the tests into, where the experiment says which; null otherwise."""
    code_patch: CodePatch | None = None
    variant: Variant = PLAIN
    """The experiment. Model's options and budgets are seen to; a method reads what is in its `Method.parameters`."""
    modified_files: bool = False
    """Whether `context` holds the files that a patch changes instead of retrieved ones."""

    @property
    def given(self) -> tuple[str, ...]:
        """What was told beyond issue and retrieval, as `generation.given` has it."""
        patch = self.code_patch
        return tuple(
            name
            for name, told in (
                ("test-file", self.test_file is not None),
                ("golden-patch", patch is not None and patch.correct),
                ("incorrect-patch", patch is not None and not patch.correct),
                ("modified-files", self.modified_files),
            )
            if told
        )

    @property
    def oracle(self) -> bool:
        """Whether anything of it could only be known from the golden side."""
        return bool(self.given)


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodBudget:
    """Ceilings for one method on one instance."""

    calls: int = 20
    """Replies of the model."""
    context_tokens: int = CONTEXT_TOKENS
    """Of retrieved files in one prompt."""
    reply_tokens: int | None = None
    """Of one reply. Null for the model's own limit."""
    seconds: float = 3_600.0
    """No call is begun later than this."""

    def changed(self, variant: Variant) -> MethodBudget:
        """With the ceilings of an experiment."""
        return MethodBudget(
            calls=variant.count("calls") or max(self.calls, CALLS_A_SAMPLE * (variant.count("samples") or 0)),
            context_tokens=variant.count("context_tokens") or self.context_tokens,
            reply_tokens=variant.count("max_tokens") or self.reply_tokens,
            seconds=self.seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One sample of a method."""

    sample: int
    """0-based."""
    patch: str
    """Unified diff against the base commit; empty where the method has nothing to hand in."""
    path: tuple[str, ...] = ()
    """Branches taken, in order."""
    rung: str = ""
    reasons: tuple[str, ...] = ()
    retries: int = 0
    calls: int = 0
    trajectory: str = ""
    """SHA-256 of a trajectory that is in the store already, where somebody else's program did the work behind the
    gateway; empty where the stage's own notes are all there is."""


def replies(own: int, budget: MethodBudget, variant: Variant) -> int:
    """Replies of a method with a limit of its own: the number of the experiment, else the smaller of both limits."""
    return variant.count("calls") or min(own, budget.calls)


class MethodFunction(Protocol):
    def __call__(
        self, assignment: Assignment, bench: Workbench, model: Model, budget: MethodBudget
    ) -> Iterator[Proposal]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A registered method."""

    name: str
    run: MethodFunction
    summary: str
    samples: int = 1
    """Proposals that it yields."""
    calls: Callable[[MethodBudget, Variant], int] = field(default=lambda budget, _: budget.calls)
    """Most replies that it asks for: the cost of a sweep is planned with it, and an experiment with other `calls` is
    refused where it does not depend on them."""
    grows: bool = True
    """Whether its prompts hold earlier replies, so that only the model's context limits them."""
    parameters: frozenset[str] = frozenset()
    """Those of an experiment (`samples`, `temperature`) that it reads from its assignment; another `temperature` is the
    model's for all of its calls."""
    anyway: frozenset[str] = frozenset()
    """`NAME=VALUE` of them that it has by itself: asking for one would give a second name to the same work."""
    steps: tuple[str, ...] = ()
    """Its parts that may have a model of their own."""
    retrieval: bool = True
    """Whether files that were retrieved for the issue go into its context. Agents look for themselves."""
    version: str = ""
    """What decides its work besides its own file and the prompts: the release of an agent."""
    external: bool = False
    """Whether a program of somebody else does the work. It needs a sandbox, an installation and a model behind a
    switchboard, so it is not tried on the contract's toys."""

    def check(self, variant: Variant) -> None:
        """`UsageError` where an experiment asks for what would change nothing of this method."""
        asked = dict(variant.parameters)
        unread = self._unread(variant)
        if not_read := sorted(unread & set(asked)):
            where = " without context=agent" if self.retrieval and LOCATING & set(not_read) else ""
            takes = ", ".join(sorted(set(PARAMETERS) - unread))
            raise UsageError(f"{self.name} has no {', '.join(not_read)}{where}", hint=f"{self.name} takes {takes}")
        same = self.anyway & {f"{name}={value}" for name, value in asked.items()}
        if "calls" in asked and self._most(variant) == self._most(variant.without("calls")):
            same |= {f"calls={asked['calls']}"}
        if same:
            words = f"{self.name} has {', '.join(sorted(same))} anyway"
            raise UsageError(words, hint=f"leave it out: {self.name} asks for {self._most(variant)} replies at most")

    def _unread(self, variant: Variant) -> set[str]:
        """The parameters that change nothing of this method beside the others of an experiment."""
        unread = {*READ_BY_METHODS, *STEPS} - self.parameters - set(self.steps)
        if self.retrieval and variant.located:
            unread -= LOCATING
        if not self.retrieval:
            unread |= SHOWN_FILES
        if variant["filter"] == "off":
            unread.add("judge")
        if self._most(Variant((("calls", "1"),))) == self._most(PLAIN):
            unread.add("calls")
        return unread

    def _most(self, variant: Variant) -> int:
        """Most replies that it asks for in an experiment."""
        return self.calls(MethodBudget().changed(variant), variant)
