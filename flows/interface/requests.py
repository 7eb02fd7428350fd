"""The request of each flow. Options of commands and parameters of deployments are derived from it.

A request is a frozen dataclass of parameters (option_types.py). The worker sets sandbox, trust, paths and secrets in
its `Settings`. Imports here must be fast, because `swt --help` loads this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Annotated, Self

from flows.interface.option_types import ARGUMENT, FILE, INSTANCE, OUTPUT, SNAPSHOT, TEXT, Option, Request
from tasks.domain.errors import UsageError
from tasks.domain.generation import Give, Mode
from tasks.domain.localization import TOP_N, Locator, RetrieverKind
from tasks.domain.names import content_key
from tasks.domain.outcome import Policy
from tasks.domain.repair import Roles, check_agent, roles_of
from tasks.domain.variant import Variant, variant_of

CANDIDATES = ("golden", "nop", "stored:")
"""Words accepted instead of a predictions file; `stored:METHOD` takes the candidates of a method from the store."""
PARTIAL = "partial"
ROUNDS = 6
"""Test runs of one candidate, including the robustness checks of a success."""
VALIDATING = 22
"""Test runs of a full validation of one instance."""


Snapshot = Annotated[str, Option(help="Name of the snapshot.", text=SNAPSHOT)]
Instances = Annotated[tuple[str, ...], Option(help="Only these instance ids.", text=INSTANCE)]
Dollars = Annotated[float | None, Option(help="Stop when so many dollars are spent.", least=0)]
Calls = Annotated[int | None, Option(help="Stop when so many model calls are paid for.", least=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedRequest(Request):
    """Run on each instance of a snapshot. Several flow runs can share the work."""

    snapshot: Snapshot
    instances: Instances = ()

    @property
    def runs(self) -> int:
        """Approximate number of test runs of an instance; 0 if the flow cannot be shared."""
        return ROUNDS

    def of(self, instances: Sequence[str]) -> Self:
        """Returns the same request for some of its instances."""
        return replace(self, instances=tuple(instances))


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest(SharedRequest):
    """Evaluate candidates by running them before and after the golden patch."""

    candidates: Annotated[
        tuple[str, ...],
        Option(
            help="Predictions files, `golden`, `nop`, `stored:METHOD`, `stored:METHOD@MODEL`.",
            flag=ARGUMENT,
            text=FILE,
            words=CANDIDATES,
        ),
    ]
    method: Annotated[
        tuple[str, ...],
        Option(help="What a predictions file's method is called: NAME, or FILE=NAME for one of several.", text=TEXT),
    ] = ()
    policy: Annotated[Policy, Option(help="Which hunks of a candidate are executed.")] = Policy.TESTS_ONLY
    coverage: Annotated[bool, Option(help="Watch the changed lines; else there is no change coverage.")] = True
    confirm: Annotated[bool, Option(help="Repeat untraced if robustness checks do not confirm a success.")] = True
    guards: Annotated[bool, Option(help="Run robustness checks of successes.")] = True
    part: Annotated[
        str,
        Option(
            help="Run only this part of each instance's suites, such as 2/5: several processes may share them.",
            text=TEXT,
        ),
    ] = ""

    def __post_init__(self) -> None:
        if self.part and not 1 <= self.share[0] <= self.share[1]:
            raise UsageError(f"{self.part} is no part", hint="--part 2/5")

    @property
    def share(self) -> tuple[int, int]:
        """Number of the part, from 1 on, and number of parts; (0, 0) if `part` is malformed."""
        which, _, parts = self.part.partition("/")
        return (int(which), int(parts)) if which.isdecimal() and parts.isdecimal() else (0, 0)

    @property
    def runs(self) -> int:
        return ROUNDS * len(self.candidates)

    def parts(self, instance: str, parts: int) -> tuple[Self, ...]:
        """Returns the same request for one instance, split into parts."""
        return tuple(replace(self.of((instance,)), part=f"{which}/{parts}") for which in range(1, parts + 1))

    @property
    def title(self) -> str:
        return f"evaluate {self.snapshot}" + f" {self.part}" * bool(self.part)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationRequest(SharedRequest):
    """Run golden tests again under other conditions, and report which instances can be trusted and why the others
    cannot."""

    health: Annotated[bool, Option(help="Make one more run of everything, as a look at what was valid before.")] = False
    alone: Annotated[
        bool,
        Option(help="Run each golden test that the fix turns alone as well, and say where it ends otherwise, and why."),
    ] = False

    @property
    def runs(self) -> int:
        return VALIDATING

    @property
    def title(self) -> str:
        return f"validate {self.snapshot}" + (" again" if self.health else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class FixesRequest(SharedRequest):
    """Judge fixes by the golden tests and filter them by other tests. Reports how many of the kept fixes are right, and
    how many of the right fixes are kept."""

    fixes: Annotated[
        tuple[str, ...],
        Option(
            help="Repairs files: as predictions files, with patches of the code; they may say `resolved`, `tests`, "
            "`iteration`, `cost_usd`, `tests_usd`.",
            flag=ARGUMENT,
            text=FILE,
            words=(PARTIAL,),
        ),
    ]
    tests: Annotated[
        tuple[str, ...],
        Option(help="Filter by these candidates, given as for `swt evaluate`.", text=FILE, words=CANDIDATES),
    ] = ()
    method: Annotated[
        tuple[str, ...],
        Option(help="What a repairs file's method is called: NAME, or FILE=NAME for one of several.", text=TEXT),
    ] = ()
    tests_method: Annotated[
        tuple[str, ...], Option(help="The same for the predictions files of `tests`.", text=TEXT)
    ] = ()
    guards: Annotated[bool, Option(help="Run robustness checks of tests that keep a fix.")] = True
    judge: Annotated[
        str,
        Option(
            help="Let this model read each fix, for the signs of test hacking that only a reader can tell.", text=TEXT
        ),
    ] = ""
    budget_usd: Dollars = None
    budget_calls: Calls = None
    kept: Annotated[
        Path | None,
        Option(
            help="Write the fixes that any of the tests keep to this file, with what is known of them.", text=OUTPUT
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.kept and not self.tests:
            raise UsageError("nothing is kept where nothing filters", hint="--tests PREDICTIONS --kept FILE")

    @property
    def runs(self) -> int:
        return ROUNDS * (len(self.fixes) + len(self.tests))

    def of(self, instances: Sequence[str]) -> Self:
        return replace(self, instances=tuple(instances), kept=None)

    @property
    def title(self) -> str:
        return f"fixes {self.snapshot}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrengthRequest(SharedRequest):
    """Measure how many known-wrong fixes solved candidates reject."""

    fixes: Annotated[
        tuple[str, ...],
        Option(
            help="Repairs files (as predictions files, with patches of the code), `partial` (the golden patch, each "
            "time without another of its changes).",
            flag=ARGUMENT,
            text=FILE,
            words=(PARTIAL,),
        ),
    ]

    @property
    def title(self) -> str:
        return f"strength {self.snapshot}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizeRequest(SharedRequest):
    """Rank the files that each issue may be about, and print how often the right ones are found."""

    method: Annotated[Locator, Option(help="BM25 by itself, or the agent with a model.")] = Locator.BM25
    retriever: Annotated[RetrieverKind, Option(help="The index behind it.")] = RetrieverKind.CODE
    model: Annotated[str, Option(help="Name from `swt models`, for the agent.", text=TEXT)] = ""
    with_tests: Annotated[bool, Option(help="Rank test files as well.")] = False
    top_n: Annotated[int, Option(help="Files that the agent is asked for.", least=1)] = TOP_N
    budget_usd: Dollars = None
    budget_calls: Calls = None

    def __post_init__(self) -> None:
        if bool(self.model) != (self.method is Locator.AGENT):
            raise UsageError("the agent needs a model, bm25 has none", hint="--method agent --model NAME")
        if not self.model and self.top_n != TOP_N:
            hint = "bm25 takes retriever, with_tests; --method agent --model NAME takes top_n as well"
            raise UsageError("bm25 has no top_n: it ranks as deep as it goes", hint=hint)

    @property
    def runs(self) -> int:
        return 1

    @property
    def title(self) -> str:
        return f"localize {self.snapshot} by {self.model or self.method}"

    @property
    def payer(self) -> str:
        """Name of the budget for the agent's calls. Requests for the same work share it."""
        asked = (self.retriever.value, self.with_tests, *([self.top_n] if self.top_n != TOP_N else []))
        return f"localize-{content_key('localize', self.snapshot, self.model, *asked)[:8]}"


TDFLOW = "tdflow"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRequest(SharedRequest):
    """Let TDFlow or a third-party agent work on each issue until its failing tests pass, and judge the fixes by the
    golden tests. Resumable: finished work is not repeated."""

    model: Annotated[str, Option(help="Name from `swt models`.", text=TEXT)]
    tests: Annotated[
        str,
        Option(
            help="Whose tests: `golden` for those that people wrote, METHOD@MODEL for candidates in the store, "
            "`generate` for those that a sub-agent writes first.",
            text=TEXT,
        ),
    ] = "golden"
    method: Annotated[str, Option(help="`tdflow`, or an agent as in `swt agents list`.", text=TEXT)] = TDFLOW
    iterations: Annotated[int, Option(help="Patches to try at most.", least=1)] = 10
    param: Annotated[
        tuple[str, ...],
        Option(
            help="NAME=MODEL for a sub-agent with a model of its own: generate_tests, explore_files, revise_patch, "
            "debug_one.",
            text=TEXT,
        ),
    ] = ()
    budget_usd: Dollars = None
    budget_calls: Calls = None

    def __post_init__(self) -> None:
        if self.method != TDFLOW:
            generated = self.tests == "generate"
            check_agent(self.method, param=self.param, iterations=self.iterations != 10, tests=generated)
        self.roles  # noqa: B018 - raises UsageError for a sub-agent that does not exist

    @property
    def roles(self) -> Roles:
        """Models of the sub-agents that do not use `model`."""
        return roles_of(self.param, self.model, generating=self.tests == "generate")

    @property
    def runs(self) -> int:
        return ROUNDS * self.iterations

    @property
    def title(self) -> str:
        return f"repair {self.snapshot} by {self.model}" + ("" if self.method == TDFLOW else f" with {self.method}")

    @property
    def payer(self) -> str:
        """Name of the budget for the calls. Requests for the same work share it."""
        other = () if self.method == TDFLOW else (self.method,)
        key = content_key("repair", self.snapshot, self.model, self.tests, self.iterations, *self.roles, *other)
        return f"repair-{key[:8]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateRequest(SharedRequest):
    """Generate tests with LLM methods and store them as candidates for `swt evaluate stored:METHOD`. Resumable:
    finished calls are not repeated."""

    methods: Annotated[tuple[str, ...], Option(help="Name of a method.", flag="--method", text=TEXT)]
    models: Annotated[tuple[str, ...], Option(help="Name from `swt models`.", flag="--model", text=TEXT)]
    months: Annotated[int | None, Option(help="Only pull requests of so many months before `until`.", least=1)] = None
    until: Annotated[date | None, Option(help="Last day of the window of so many months.")] = None
    limit: Annotated[int | None, Option(help="Only so many instances, always the same ones.", least=1)] = None
    dry_run: Annotated[bool, Option(help="Say planned calls, tokens and dollars; ask nobody.")] = False
    budget_usd: Dollars = None
    budget_calls: Calls = None
    name: Annotated[str, Option(help="Who pays: sweeps of one name share a budget.", text=TEXT)] = ""
    param: Annotated[
        tuple[str, ...],
        Option(
            help="NAME=VALUE of an experiment with a name of its own: temperature=0.7 … (docs/experiments.md).",
            text=TEXT,
        ),
    ] = ()
    give: Annotated[tuple[Give, ...], Option(help="Tell methods more than the issue.")] = ()
    incorrect: Annotated[
        Path | None, Option(help="Predictions file of wrong fixes, for incorrect-patch.", text=FILE)
    ] = None
    batch: Annotated[bool, Option(help="Ask in batches: half the price, within a day; for methods that ask once.")] = (
        False
    )
    script: Annotated[bool, Option(help="Ask for reproduction scripts instead of unit tests.")] = False

    def __post_init__(self) -> None:
        if not self.methods or not self.models:
            raise UsageError("a sweep needs a method and a model", hint="--method zero_shot_plus --model NAME")
        if (self.months is None) != (self.until is None):
            raise UsageError("a window is so many months before a day", hint="give both, months and until")
        self._check_gifts()
        self.variant.check(modified_files=Give.MODIFIED_FILES in self.give, script=self.script)

    def _check_gifts(self) -> None:
        patches = {Give.INCORRECT_PATCH, Give.GOLDEN_PATCH} & set(self.give)
        if len(patches) > 1:
            raise UsageError("one patch is given, golden or incorrect", hint="make two sweeps of it")
        if Give.MODIFIED_FILES in self.give and not patches:
            raise UsageError("modified-files says which files a patch changes", hint="give a patch as well")
        if (Give.INCORRECT_PATCH in self.give) != (self.incorrect is not None):
            hint = "--give incorrect-patch --incorrect PREDICTIONS"
            raise UsageError("incorrect-patch and its predictions file go together", hint=hint)

    @property
    def evaluates(self) -> bool:
        """Whether the flow also evaluates the candidates."""
        return False

    @property
    def variant(self) -> Variant:
        """The settings of the experiment, from `param`."""
        return variant_of(self.param)

    @property
    def mode(self) -> Mode:
        return Mode.REPRODUCTION_SCRIPT if self.script else Mode.UNIT_TEST

    @property
    def runs(self) -> int:
        return 0 if self.dry_run else ROUNDS * len(self.methods) * len(self.models)

    def of(self, instances: Sequence[str]) -> Self:
        """Returns the same request for these instances. The window and the limit are removed, because they are already
        applied."""
        return replace(self, instances=tuple(instances), limit=None, months=None, until=None)

    @property
    def title(self) -> str:
        story = "plan" if self.dry_run else "sweep" if self.evaluates else "generate"
        return f"{story} {', '.join(self.models)} on {self.snapshot}"

    @property
    def payer(self) -> str:
        """Name of the budget. Without `name`, it is derived from snapshot, models and methods, but not from the
        instances."""
        methods = sorted(map(self.variant.label, self.methods))
        key = content_key("sweep", self.snapshot, sorted(self.models), methods)[:8]
        return self.name or f"{self.snapshot}-{key}"

    def label(self, method: str) -> str:
        """Returns the method name for the candidates. Another variant, more information in the prompt, or another mode
        gives another name."""
        asked = () if self.mode is Mode.UNIT_TEST else (self.mode.value,)
        return "+".join((self.variant.label(method), *(give.value for give in Give if give in self.give), *asked))


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRequest(GenerateRequest):
    """Generate tests with LLM methods and evaluate them, beside `golden` and `nop`. Resumable: finished work is not
    repeated."""

    @property
    def evaluates(self) -> bool:
        return True
