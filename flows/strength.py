"""Strength: do tests that tell the broken code from the fixed one also tell a wrong fix from the right one?

    repairs ─► proposed fixes ─► golden tests on each: right or wrong? ─► solved candidates on each ─► rejected?

Verdicts have to be in the store (`swt evaluate`); what was run on a fix before is not run again.
"""

from __future__ import annotations

from dataclasses import dataclass

from flows.evaluation import prepare, run_settings
from flows.parameters import StrengthRequest
from flows.run import StoryRun, Threads, begin, bind, line_of, log
from flows.settings import Settings
from tasks.adapters.store.database import ensure_views
from tasks.adapters.store.warehouse import Store
from tasks.adapters.tabular import text_table
from tasks.domain.errors import NotFound
from tasks.domain.undone import Left, Undone
from tasks.evaluate.strength import FixRuns, judged_suites, run_on_fixes, strength_of, take_fixes
from tasks.evaluate.task import Ran, SuiteRuns, check_sandbox, choose_instances, run_suites

STORY = "strength"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrengthSummary:
    """What it came to."""

    text: str
    """The rows of `strength`, how many fixes are wrong, and what it took."""
    remarks: tuple[str, ...]
    """One line each: rows that could not be read, and fixes that cannot be run."""
    undone: tuple[Undone, ...]
    exit_code: int
    """0 done, 1 done with failures left, 3 nothing could run."""

    @property
    def problems(self) -> tuple[str, ...]:
        """All that went wrong, a line each."""
        return (*self.remarks, *map(line_of, self.undone))


def strength_here(request: StrengthRequest, settings: Settings) -> StrengthSummary:
    """Try the fixes in this process, on threads, with no server."""
    board, store = Threads(settings.workers), Store(settings.store)
    return begin(STORY, request.title, store, board, lambda run: strength(request, settings, run))


def strength(request: StrengthRequest, settings: Settings, run: StoryRun) -> StrengthSummary:
    """The story."""
    places, snapshot = settings.places, request.snapshot
    how = run_settings(settings)
    proposed = take_fixes(places, request.fixes, choose_instances(places, snapshot, request.instances))
    check_sandbox(places, how)
    for line in proposed.problems:
        log.warning("%s", line)
    run.leave("fixes taken", snapshot, proposed.left)
    built = prepare(run, settings, snapshot, sorted(proposed.fixes))
    suites = judged_suites(places, settings.sql, snapshot)
    unjudged = NotFound("nothing was judged on it yet, see `swt evaluate`")
    run.leave("suites", snapshot, [Left.by(name, unjudged) for name in sorted(built.keys() - suites.keys())])
    ready = {name: env for name, env in built.items() if name in suites}
    golden = [
        SuiteRuns(snapshot=snapshot, instance_id=name, env_id=env, suite_ids=suites[name][:1])
        for name, env in ready.items()
    ]
    tried = [
        FixRuns(snapshot=snapshot, instance_id=name, env_id=env, suite_ids=suites[name], fix_ids=proposed.fixes[name])
        for name, env in ready.items()
    ]
    references = run.round("references", bind(run_suites, places, how), golden).results
    total = sum((*references, *run.round("fixes", bind(run_on_fixes, places, how), tried).results), Ran())
    ensure_views(settings.store, settings.database, settings.sql)
    found = strength_of(places, settings.sql, snapshot, proposed)
    undone = run.undone()
    facts = (
        f"{proposed.handed_in} fixes handed in, {sum(map(len, proposed.fixes.values()))} different ones to run: "
        f"{found.statuses or 'none'}; {total.executed} runs, {total.reused} reused; {len(undone)} undone"
    )
    return StrengthSummary(
        text=f"{text_table(found.table)}\n{facts}",
        remarks=proposed.problems,
        undone=undone,
        exit_code=run.exit_code(nothing=not ready),
    )
