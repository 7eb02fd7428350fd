"""Run every flow on the bundled project `data/demo`, without network, container engine or API key."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from flows.interface.pipelines import run_flow
from flows.interface.requests import EvaluationRequest, FixesRequest, RepairRequest, SweepRequest
from flows.interface.settings import RESOURCES, Settings
from flows.interface.snapshot_requests import RebuildRequest
from flows.judge_repairs import FixesSummary
from flows.rebuild import RebuildSummary
from flows.snapshots import import_rows
from flows.sweep import SweepSummary
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import selection
from tasks.adapters.store.views.in_memory import answers
from tasks.adapters.tabular import text_table
from tasks.adapters.text import say
from tasks.demo.history import build_mirror
from tasks.demo.recorded_github import RecordedGitHub, read_recording
from tasks.demo.recorded_replies import serve_replies
from tasks.domain.collect import PullRequest, Rejection
from tasks.domain.instance import TaskInstance
from tasks.domain.names import repo_folder
from tasks.repair.settings import GENERATE
from tasks.scrape.dataset_rows import import_instances
from tasks.scrape.task import TOKEN_VARIABLES
from tasks.snapshot.task import already_published

DEMO = RESOURCES / "data" / "demo"
RECORDING = DEMO / "github.jsonl"
SNAPSHOT = "demo"

SWEPT = tuple(f"rolling-swt-bench__larder-{number}" for number in (3, 7, 10, 12))
METHODS = ("zero_shot", "zero_shot_plus", "auto_code_rover", "agent")
MODEL = "scripted-demo"
"""Not a real model: a local server replays the replies in `replies.scripted-demo.json`."""

REPAIRED = "rolling-swt-bench__larder-14"
"""The fix of this instance changes two files; the first patch changes only one of them."""

MONTHS = (("2025-08", 1), ("2025-11", 3))
"""The two months that the demo rebuilds: name, and limit of new instances to validate. The first month validates one
valid instance. The second month adds another valid one, the flaky one and the broken one."""

QUESTIONS: tuple[tuple[str, str, dict[str, list[int]]], ...] = (
    ("How often does each method reproduce the issue, and how often robustly? (table2, grader `paper`)", "table2", {}),
    ("Which decoys are there, and how many successes accept one? (decoy_kind)", "decoy_kind", {}),
    ("How much of the changed code do its tests reach? (table3)", "table3", {}),
    ("Who solves what together? Pairs (method_overlap)", "method_overlap", {"size": [1, 2]}),
    ("How many wrong fixes do its successes reject? (strength)", "strength", {}),
    ("What did the sweep of recorded replies cost? (table10)", "table10", {}),
    ("Where do the graders disagree? (grader_disagreement)", "grader_disagreement", {}),
)
"""Title, view, and a filter for its rows."""


def own_store(settings: Settings) -> Settings:
    """Returns settings with a separate store and database below the cache, so that demo rows never mix with real
    rows."""
    folder = settings.cache / "demo"
    return replace(settings, store=str(folder / "store"), database=folder / "swt.duckdb", trusted=True)


def run_demo(settings: Settings) -> str:
    """Run the demo: evaluate recorded candidates, judge fixes, sweep and repair with recorded replies, and rebuild two
    months.

    Problems go to standard error. Returns the text to print: answers, counts and next steps.
    """
    settings = own_store(settings)
    build_demo_mirror(settings)
    say(import_rows(settings, DEMO / "instances.jsonl", SNAPSHOT), err=True)
    predictions = sorted(str(path) for path in DEMO.glob("predictions.*.jsonl"))
    request = EvaluationRequest(candidates=("golden", "nop", *predictions), snapshot=SNAPSHOT)
    summary = run_flow(request, settings)
    repairs = tuple(sorted(str(path) for path in DEMO.glob("repairs.*.jsonl")))
    filtered = run_flow(FixesRequest(fixes=repairs, snapshot=SNAPSHOT, tests=tuple(predictions)), settings)
    swept = sweep_demo(settings)
    repaired = repair_demo(settings)
    rebuilt = rebuild_demo(settings)
    done = (summary.facts, *swept.text.splitlines()[-1:], "")
    stories = (*_filtered(filtered), *_repaired(settings, repaired), *_rebuilt(settings, rebuilt))
    return "\n".join((*_answers(settings), *stories, *done, *_next_steps(settings)))


def sweep_demo(settings: Settings) -> SweepSummary:
    """Run four methods on four instances, with recorded replies instead of a model."""
    request = SweepRequest(snapshot=SNAPSHOT, methods=METHODS, models=(MODEL,), instances=SWEPT, name="demo")
    with _answering(settings) as here:
        swept: SweepSummary = run_flow(request, here)
    return swept


def repair_demo(settings: Settings) -> FixesSummary:
    """Repair one instance with every sub-agent of TDFlow and recorded replies. Tests and debugger really run; the
    server has a reply only if their output matches the recording."""
    request = RepairRequest(snapshot=SNAPSHOT, model=MODEL, tests=GENERATE, instances=(REPAIRED,))
    with _answering(settings) as here:
        repaired: FixesSummary = run_flow(request, here)
    return repaired


@contextmanager
def _answering(settings: Settings) -> Iterator[Settings]:
    """Returns settings whose model address is the server of recorded replies."""
    with serve_replies(DEMO / f"replies.{MODEL}.json") as url:
        yield replace(settings, environ={"SWT_SCRIPTED_BASE_URL": url})


def rebuild_demo(settings: Settings) -> tuple[RebuildSummary, ...]:
    """Rebuild two months of the demo project's history from a recorded GitHub."""
    build_demo_mirror(settings)
    os.environ.setdefault(TOKEN_VARIABLES[0], "any-token-will-do-for-the-demo")
    github = RecordedGitHub(read_recording(RECORDING), month=MONTHS[0][0])
    made: list[RebuildSummary] = []
    with github.serve() as url:
        for name, limit in MONTHS:
            github.month = MONTHS[-1][0] if already_published(settings.places, name) else name
            request = RebuildRequest(
                snapshot=name, repositories_file=DEMO / "repositories.toml", limit=limit, unchanged=True
            )
            made.append(run_flow(request, replace(settings, git="", github=url)))
    return tuple(made)


def _filtered(summary: FixesSummary) -> Iterator[str]:
    yield "Which fixes of others are right, and which would somebody keep who has only these tests? (swt fixes)"
    yield from summary.text.splitlines()
    yield ""


def _repaired(settings: Settings, summary: FixesSummary) -> Iterator[str]:
    yield "How does a repair come about? One instance, by a model that knows the fix at its second try (swt repair)"
    yield from summary.problems
    shown = ["iteration", "who", "calls", "did", "what"]
    asked = selection("repair_story", {"snapshot": [SNAPSHOT]}, order=["position"])
    (story,) = answers(settings.store, settings.sql, ["repair_story"], [asked])
    yield from text_table(story.select(shown)).splitlines()
    for row in story.to_pylist():
        if row["who"] == "debug-one":
            yield f"  {row['case_id']}: {row['made']}"
    yield ""


def _rebuilt(settings: Settings, months: Sequence[RebuildSummary]) -> Iterator[str]:
    yield "What would a rolling rebuild publish of the same history, month after month? (swt rebuild)"
    for summary in months:
        yield from summary.text.splitlines()
        rows = [row for part in summary.validated for row in part.validations]
        yield from (f"  {row.instance_id}: {row.reason or 'valid'}" for row in rows)
    yield ""
    yield "Which pull requests does each rule leave? (swt query funnel)"
    (funnel,) = answers(settings.store, settings.sql, ["funnel"], [selection("funnel", order=["step"])])
    whole = [row for row in funnel.to_pylist() if row["repo"] is None]
    yield from (f"  {row['rule']:18}{row['remaining']:4}" for row in whole)
    yield ""
    yield "Why did the others not become instances? (table `rejection`)"
    store = Store(settings.store)
    titles = {row.number: row.title for row in store.read(PullRequest)}
    for row in sorted(store.read(Rejection), key=lambda row: row.number):
        yield f"  #{row.number} {titles[row.number]}: {row.rule}, {row.detail}"
    yield ""


def build_demo_mirror(settings: Settings) -> Path:
    """Build the mirror of the demo project from text, unless it exists. Returns its path."""
    (repo,) = {row.repo for row in _demo_instances()}
    mirror = settings.places.mirrors / f"{repo_folder(repo)}.git"
    return mirror if mirror.exists() else build_mirror(DEMO, mirror)


def _demo_instances() -> tuple[TaskInstance, ...]:
    return import_instances(DEMO / "instances.jsonl", snapshot=SNAPSHOT).instances


def _answers(settings: Settings) -> Iterator[str]:
    views = [view for _, view, _ in QUESTIONS]
    statements = [selection(view, {"snapshot": [SNAPSHOT], **which}) for _, view, which in QUESTIONS]
    tables = answers(settings.store, settings.sql, views, statements)
    for (title, _, _), table in zip(QUESTIONS, tables, strict=True):
        yield title
        yield text_table(table)


def _next_steps(settings: Settings) -> Iterator[str]:
    yield "Where to look next"
    yield f"  export SWT_STORE={settings.store} SWT_DATABASE={settings.database}      the demo's own warehouse"
    yield "  swt report && swt view        all of it as pages: leaderboard, figures, instances, candidates"
    yield "  swt query                     every question that has a name"
    yield "  swt query \"SELECT instance_id, method, grader, solved, reason FROM verdict WHERE snapshot = 'demo'\""
    yield f'  duckdb -readonly {settings.database} "FROM table2"'
    yield "  swt evaluate PREDICTIONS --snapshot demo      judge your own"
    yield "  data/demo/README.md           what each instance and candidate of the demo is there for"
