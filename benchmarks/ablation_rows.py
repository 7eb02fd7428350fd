"""The rows of the table of ablations in docs/experiments.md, and how each is known to have been done."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.knowing_model import KnownIssue
from flows.interface.parameters import LocalizeRequest, SweepRequest
from flows.interface.settings import Settings
from flows.localize import localize_here
from flows.sweep import sweep_here
from tasks.adapters.llm.records.reply_cache import open_archive
from tasks.adapters.llm.records.request import ModelRequest
from tasks.adapters.store.rows.store import Store
from tasks.domain.candidate import Candidate
from tasks.domain.generation import Generation, Give
from tasks.domain.instance import TaskInstance
from tasks.domain.llm import CallStatus, LlmCall
from tasks.domain.localization import TOP_N, Localization, Locator
from tasks.rehearsal.scripted_provider.server import ScriptedProvider

SNAPSHOT = "ablations"
MODEL, OTHER = "bench", "bench-other"


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked under one name for one instance."""

    known: KnownIssue
    rows: tuple[LlmCall, ...]
    questions: tuple[ModelRequest, ...]
    ranked: Mapping[str, tuple[str, ...]]
    """Retriever → its files, best first."""

    @property
    def first(self) -> str:
        """All texts of the first question."""
        return "\n".join(message.text for message in self.questions[0].messages)

    @property
    def shown(self) -> tuple[str, ...]:
        """Files that it shows."""
        return tuple(re.findall(r'<code path="([^"]+)">', self.first))

    def shows(self, retriever: str) -> bool:
        """Whether these are files of a retriever, in its order."""
        return bool(self.shown) and self.shown == tuple(path for path in self.ranked[retriever] if path in self.shown)

    def heard(self, text: str) -> bool:
        """Whether a text is in any of the questions."""
        return any(text in message.text for question in self.questions for message in question.messages)

    def by(self, model: str) -> set[str]:
        """Steps in which a model was asked."""
        return {row.step for row in self.rows if row.model == model}


@dataclass(frozen=True, slots=True)
class Warehouse:
    """Where they are run."""

    work: Path
    settings: Settings
    issues: tuple[KnownIssue, ...]
    provider: ScriptedProvider

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.instance_id for one in self.issues)

    @property
    def wrong(self) -> Path:
        """A wrong fix for each instance."""
        return self.work / "wrong.jsonl"

    @property
    def store(self) -> Store:
        return Store(self.settings.store)

    def made(self) -> tuple[int, ...]:
        """Calls that arrived, and rows that are there."""
        rows = (len(self.store.read(kind)) for kind in (LlmCall, Generation, Candidate))
        return len(self.provider.books), *rows

    def asked(self, label: str, known: KnownIssue) -> Asked:
        archive = open_archive(self.store, self.settings.cache)
        found = self.store.read(LlmCall, method=label, instance_id=known.instance_id)
        kept = [row for row in found if row.status in (CallStatus.ANSWERED, CallStatus.REPLAYED)]
        rows = tuple(sorted(kept, key=lambda row: (row.started_at, row.position)))
        exchanges = [archive.find(row.call_key) for row in rows]
        return Asked(known, rows, tuple(one.request for one in exchanges if one), self._ranked(known))

    def _ranked(self, known: KnownIssue) -> dict[str, tuple[str, ...]]:
        (instance,) = self.store.read(TaskInstance, snapshot=SNAPSHOT, instance_id=known.instance_id)
        found: defaultdict[str, list[Localization]] = defaultdict(list)
        for row in self.store.read(Localization, method=Locator.BM25, instance_key=instance.instance_key):
            found[row.variant].append(row)
        return {name: tuple(row.path for row in sorted(rows, key=lambda row: row.rank)) for name, rows in found.items()}


def _any(_: Asked) -> bool:
    return True


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """One row of the table in docs/experiments.md, or a method as it is."""

    method: str
    param: tuple[str, ...] = ()
    give: tuple[Give, ...] = ()
    calls: int | None = None
    """Replies that it uses for each instance; null where a program of others decides."""
    tables: Mapping[str, str] = field(default_factory=dict)
    """Table → which of its rows is this ablation's, on {n} instances; `table2` and `variants` have all besides."""
    otherwise: Callable[[Asked], bool] = _any
    """Whether it was asked in the way that its name says."""
    generates: bool = True

    @property
    def request(self) -> SweepRequest:
        """Without instances and wrong fixes."""
        wrong = Path("wrong.jsonl") if Give.INCORRECT_PATCH in self.give else None
        return SweepRequest(
            snapshot=SNAPSHOT,
            methods=(self.method,),
            models=(MODEL,),
            param=self.param,
            give=self.give,
            incorrect=wrong,
        )

    @property
    def label(self) -> str:
        return self.request.label(self.method)

    def questions(self, instances: int) -> dict[str, str]:
        """Table → the condition under which it has exactly one row of this ablation."""
        named = {
            "table2": f"method = '{self.label}' AND n = {instances}",
            "variants": f"label = '{self.label}' AND proposed = {instances}",
        }
        return named | {table: where.format(n=instances) for table, where in self.tables.items()}

    def run(self, warehouse: Warehouse) -> int:
        """Ask for it; 0 where nothing is left."""
        wrong = warehouse.wrong if self.request.incorrect else None
        done = sweep_here(replace(self.request, instances=warehouse.names, incorrect=wrong), warehouse.settings)
        print(*done.problems, sep="\n", file=sys.stderr)
        return done.left + done.exit_code


@dataclass(frozen=True, kw_only=True)
class Search(Ablation):
    """The localization agent by itself, asked for so many files."""

    method: str = "localize"
    top_n: int = TOP_N
    generates: bool = False

    @property
    def label(self) -> str:
        return self.method if self.top_n == TOP_N else f"{self.method}[top_n={self.top_n}]"

    def questions(self, instances: int) -> dict[str, str]:
        return {
            "localization_k": f"top_n = {self.top_n} AND k_10 = {instances}",
            "localization_code": f"method = 'agent' AND top_n = {self.top_n} AND n = {instances}",
        }

    def run(self, warehouse: Warehouse) -> int:
        request = LocalizeRequest(
            snapshot=SNAPSHOT, method=Locator.AGENT, model=MODEL, instances=warehouse.names, top_n=self.top_n
        )
        done = localize_here(request, warehouse.settings)
        print(*done.problems, sep="\n", file=sys.stderr)
        return done.exit_code


def _told(text: str) -> Callable[[Asked], bool]:
    return lambda asked: text in asked.first


def _table5(files: str, patch: str, *, test_file: bool = False) -> dict[str, str]:
    where = f"method = 'zero_shot_plus' AND files = '{files}' AND patch IS NOT DISTINCT FROM {patch}"
    return {"table5": f"{where} AND test_file = {test_file} AND n = {{n}}"}


def _figure8(label: str) -> dict[str, str]:
    return {"calls_to_success": f"method = '{label}' AND ended = {{n}}"}


COMMAND = "runs a test file"
"""What agents are told with the command for tests."""
ZERO, LIBRO = "zero_shot_plus", "libro"
ABLATIONS = (
    Ablation(method=ZERO, calls=1, tables=_table5("retrieved", "NULL"), otherwise=lambda one: one.shows("code")),
    Ablation(
        method=ZERO,
        give=(Give.TEST_FILE,),
        calls=1,
        tables=_table5("retrieved", "NULL", test_file=True),
        otherwise=_told("<test_file path="),
    ),
    Ablation(
        method=ZERO,
        give=(Give.GOLDEN_PATCH, Give.MODIFIED_FILES),
        calls=1,
        tables=_table5("modified", "'golden'"),
        otherwise=lambda one: "<proposed_change>" in one.first and set(one.shown) <= set(one.known.ranked),
    ),
    Ablation(
        method=ZERO,
        give=(Give.INCORRECT_PATCH,),
        calls=1,
        tables=_table5("retrieved", "'incorrect'"),
        otherwise=_told("# Nothing of this helps."),
    ),
    Ablation(
        method=ZERO,
        param=("temperature=0.7",),
        calls=1,
        tables={"temperature": f"method = '{ZERO}[temperature=0.7]' AND temperature = 0.7"},
        otherwise=lambda one: all(question.temperature == 0.7 for question in one.questions),
    ),
    Ablation(method=LIBRO, calls=6),
    Ablation(method=LIBRO, param=("samples=10",), calls=11),
    Ablation(method=LIBRO, param=("filter=off",), calls=5, otherwise=lambda one: "judge" not in one.by(MODEL)),
    Ablation(
        method=LIBRO,
        param=(f"judge={OTHER}",),
        calls=6,
        otherwise=lambda one: one.by(OTHER) == {"judge"} and "judge" not in one.by(MODEL),
    ),
    Ablation(method="agent", calls=2, tables=_figure8("agent"), otherwise=_told("have 20 replies")),
    Ablation(
        method="agent",
        param=("calls=10",),
        calls=2,
        tables=_figure8("agent[calls=10]"),
        otherwise=_told("have 10 replies"),
    ),
    Ablation(method=ZERO, param=("format=paper",), calls=1, otherwise=_told("custom diff format")),
    Ablation(method=ZERO, param=("context=lucene",), calls=1, otherwise=lambda one: one.shows("lucene")),
    Ablation(method=ZERO, param=("context=agent",), calls=1, otherwise=lambda one: one.shown == one.known.ranked),
    Ablation(
        method=ZERO,
        param=("context=agent", "top_n=1"),
        calls=1,
        otherwise=lambda one: one.shown == one.known.ranked[:1],
    ),
    Search(top_n=1, calls=5),
    Search(top_n=5, calls=5),
    Search(calls=5),
    Ablation(method="auto_code_rover", calls=3, otherwise=lambda one: bool(one.questions[0].tools)),
    Ablation(
        method="auto_code_rover",
        param=("tools=text",),
        calls=3,
        otherwise=lambda one: not any(question.tools for question in one.questions),
    ),
    Ablation(
        method="auto_code_rover",
        param=(f"search={OTHER}",),
        calls=3,
        otherwise=lambda one: one.by(OTHER) == {"search"} and one.by(MODEL) == {"write"},
    ),
    Ablation(method="aider", otherwise=lambda one: not one.heard("got this output")),
    Ablation(
        method="aider",
        param=("validation=tests",),
        otherwise=lambda one: one.heard("got this output"),
    ),
    Ablation(method="swe_agent", otherwise=lambda one: COMMAND not in one.first),
    Ablation(method="swe_agent_plus", otherwise=_told(COMMAND)),
    Ablation(
        method="swe_agent_plus",
        param=("test_command=untold",),
        otherwise=lambda one: COMMAND not in one.first and "run your tests" in one.first,
    ),
)
"""Those of the table, and the methods that they are held against."""
