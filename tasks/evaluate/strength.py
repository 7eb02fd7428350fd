"""Strength: the tests of an instance are run on fixes that others proposed for it.

Reads `task_instance`, `environment`, `suite`; writes `proposed_fix`, `fix_run`, and the tables of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.store.warehouse import Store
from tasks.domain.candidate import Candidate, Suite
from tasks.domain.errors import NotFound
from tasks.domain.instance import TaskInstance
from tasks.domain.names import EnvId, FixId, InstanceId, SuiteId
from tasks.domain.places import Places
from tasks.domain.proposed_fix import FixRun, ProposedFix
from tasks.evaluate.partial import PARTIAL, partial_fixes
from tasks.evaluate.plan import fix_spec
from tasks.evaluate.predictions import read_predictions
from tasks.evaluate.proposed import propose
from tasks.evaluate.task import Ran, RunSettings, bench_of, line_of, make_runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """What repairs files came to."""

    fixes: Mapping[InstanceId, tuple[FixId, ...]]
    """Fixes that can be run, each once, by instance."""
    handed_in: int
    unreadable: int
    """Instances whose mirror or base commit is missing."""
    problems: tuple[str, ...]
    """One line each: rows that could not be read, and fixes that cannot be run."""


def take_fixes(places: Places, sources: tuple[str, ...], instances: Iterable[TaskInstance]) -> Proposed:
    """Read repairs files, which look like predictions files, or make `partial` fixes, and store them.

    A method may propose several fixes for one instance. `NotFound` or `BadInput` where a file is missing or none.
    """
    now, mirrors = datetime.now(UTC), Mirrors(places.mirrors)
    by_id = {instance.instance_id: instance for instance in instances}
    rows, problems = _read(sources, by_id, now)
    fixes: dict[InstanceId, list[ProposedFix]] = {}
    for name, instance in by_id.items():
        read_base = partial(mirrors.read_file, instance.repo, instance.base_commit)
        try:
            own = partial_fixes(instance, read_base, created_at=now) if PARTIAL in sources else ()
            fixes[name] = [propose(row, read_base) for row in (*rows[name], *own)]
        except NotFound as error:
            problems.append(f"{name}: {error}")
    every = [fix for found in fixes.values() for fix in found]
    Store(places.store).write(list({fix.fix_id: fix for fix in every}.values()))
    usable = {
        name: tuple(dict.fromkeys(fix.fix_id for fix in found if not fix.problem)) for name, found in fixes.items()
    }
    return Proposed(
        fixes={name: ids for name, ids in usable.items() if ids},
        handed_in=len(every),
        unreadable=len(by_id) - len(fixes),
        problems=(*problems, *(f"{fix.source}: {fix.instance_id}: {fix.problem}" for fix in every if fix.problem)),
    )


def _read(
    sources: Iterable[str], instances: Mapping[InstanceId, TaskInstance], now: datetime
) -> tuple[dict[InstanceId, list[Candidate]], list[str]]:
    """The rows of all repairs files by instance, and a line for each that could not be read."""
    rows: dict[InstanceId, list[Candidate]] = {name: [] for name in instances}
    problems: list[str] = []
    for source in sources:
        if source != PARTIAL:
            read = read_predictions(Path(source), instances.values(), created_at=now, several=True)
            problems += [line_of(source, problem) for problem in read.problems]
            for row in read.candidates:
                rows[row.instance_id].append(row)
    return rows, problems


def run_on_fixes(
    places: Places,
    settings: RunSettings,
    snapshot: str,
    instance_id: InstanceId,
    env_id: EnvId,
    suite_ids: tuple[SuiteId, ...],
    fix_ids: tuple[FixId, ...],
) -> Ran:
    """Every run of these suites on these fixes of one instance that the store does not have."""
    store = Store(places.store)
    bench = bench_of(places, settings, snapshot, instance_id, env_id)
    fixes, suites = store.read(ProposedFix, fix_id=fix_ids), store.read(Suite, suite_id=suite_ids)
    pairs = [(fix, suite, fix_spec(bench, suite, fix)) for fix in fixes for suite in suites]
    links = {
        FixRun(
            fix_id=fix.fix_id,
            instance_key=fix.instance_key,
            instance_id=fix.instance_id,
            suite_id=suite.suite_id,
            run_key=spec.run_key,
        )
        for fix, suite, spec in pairs
    }
    store.write(sorted(links - set(store.read(FixRun, fix_id=fix_ids)), key=lambda link: link.run_key))
    return make_runs(places, settings, bench, (spec for *_, spec in pairs))
