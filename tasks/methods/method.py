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
"""Parameters that only affect methods that declare them."""
LOCATING = frozenset({"locate", "top_n"})
"""Parameters of the localization agent."""
SHOWN_FILES = frozenset({"context", "context_tokens"})
"""Parameters of the files in a method's context."""
CALLS_A_SAMPLE = 3
"""Maximum calls for each sample: one for the sample, two for the verdict on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFile:
    """A file of the base commit that goes into a prompt."""

    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CodePatch:
    """A proposed fix. Only experiments give one to a method (the paper's Table 5)."""

    text: str
    correct: bool
    """Whether it is the golden patch. Methods must not show this to a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """Input of a method."""

    task: MethodTask
    context: tuple[ContextFile, ...] = ()
    """Retrieved files, best first; or the files that `code_patch` changes."""
    mode: Mode = Mode.UNIT_TEST
    test_file: ContextFile | None = None
    """The file for the tests if the experiment sets one; else None."""
    code_patch: CodePatch | None = None
    variant: Variant = PLAIN
    """The experiment. The stage applies model options and budgets; a method only reads its own `Method.parameters`."""
    modified_files: bool = False
    """Whether `context` has the files that a patch changes instead of retrieved ones."""

    @property
    def given(self) -> tuple[str, ...]:
        """Inputs beyond issue and retrieval, as stored in `generation.given`."""
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
        """Whether any input comes from the golden side."""
        return bool(self.given)


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodBudget:
    """Limits of one method on one instance."""

    calls: int = 20
    """Replies of the model."""
    context_tokens: int = CONTEXT_TOKENS
    """Tokens of retrieved files in one prompt."""
    reply_tokens: int | None = None
    """Tokens of one reply. None for the model's own limit."""
    seconds: float = 3_600.0
    """No call starts later than this."""

    def changed(self, variant: Variant) -> MethodBudget:
        """Returns the budget with the limits of an experiment."""
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
    """Unified diff against the base commit; empty if the method has none."""
    path: tuple[str, ...] = ()
    """Branches of the run, in order."""
    rung: str = ""
    reasons: tuple[str, ...] = ()
    retries: int = 0
    calls: int = 0
    trajectory: str = ""
    """SHA-256 of a stored trajectory if a third-party program made the sample behind the gateway. Empty if the stage's
    own notes are the trajectory."""


def replies(own: int, budget: MethodBudget, variant: Variant) -> int:
    """Returns the reply limit of a method that has its own: the number in the experiment, else the smaller of both
    limits."""
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
    """Number of proposals."""
    calls: Callable[[MethodBudget, Variant], int] = field(default=lambda budget, _: budget.calls)
    """Returns the maximum number of replies. Sweep plans use it. An experiment that sets `calls` is refused if the
    result does not depend on it."""
    grows: bool = True
    """Whether prompts contain earlier replies, so that only the model's context limits them."""
    parameters: frozenset[str] = frozenset()
    """Experiment parameters (`samples`, `temperature`) that the method reads from its assignment. A `temperature` that
    it does not read applies to all its model calls."""
    anyway: frozenset[str] = frozenset()
    """`NAME=VALUE` pairs that apply by default. An experiment that sets one is refused: it is the same work under a
    second name."""
    steps: tuple[str, ...] = ()
    """Steps that can use a different model."""
    retrieval: bool = True
    """Whether retrieved files go into its context. Agents search for files themselves."""
    version: str = ""
    """Version of what else determines the method's results besides its own file and prompts: the release of an
    agent."""
    external: bool = False
    """Whether a third-party program does the work. It needs a sandbox, an installation and a model behind a router, so
    the contract tests skip it."""

    def check(self, variant: Variant) -> None:
        """Raises `UsageError` if the experiment sets a parameter without effect on this method."""
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
        """Returns the parameters without effect on this method in this experiment."""
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
        """Returns the maximum number of replies in an experiment."""
        return self.calls(MethodBudget().changed(variant), variant)
