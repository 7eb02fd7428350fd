"""Strength: the tests of an instance are run on fixes that others proposed for it.

Reads `task_instance`, `environment`, `suite`; writes `proposed_fix`, `fix_run`, and the tables of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pyarrow as pa

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.store.latest import literal
from tasks.adapters.store.loaded import answers
from tasks.adapters.store.warehouse import Store
from tasks.domain.candidate import Candidate, Suite
from tasks.domain.errors import NotFound
from tasks.domain.instance import TaskInstance
from tasks.domain.names import EnvId, FixId, InstanceId, SuiteId
from tasks.domain.places import Places
from tasks.domain.proposed_fix import FixRun, ProposedFix
from tasks.domain.undone import Left, OfInstance
from tasks.evaluate.partial import PARTIAL, partial_fixes
from tasks.evaluate.plan import fix_spec
from tasks.evaluate.predictions import read_predictions
from tasks.evaluate.proposed import propose
from tasks.evaluate.taking import lines_of
from tasks.evaluate.task import Ran, RunSettings, bench_of, make_runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """What repairs files came to."""

    fixes: Mapping[InstanceId, tuple[FixId, ...]]
    """Fixes that can be run, each once, by instance."""
    handed_in: int
    left: tuple[Left, ...]
    """Instances whose mirror or base commit is missing."""
    problems: tuple[str, ...]
    """One line each: rows that could not be read, and fixes that cannot be run."""


def take_fixes(places: Places, sources: tuple[str, ...], instances: Iterable[TaskInstance]) -> Proposed:
    """Read repairs files, which look like predictions files, or make `partial` fixes, and store them.

    A method may propose several fixes for one instance. `NotFound` or `BadInput` where a file is missing or none.
    """
    now, mirrors = datetime.now(UTC), Mirrors(places.mirrors)
    by_id = {instance.instance_id: instance for instance in instances}
    rows, problems = _read(Store(places.store), sources, by_id, now)
    left: list[Left] = []
    fixes: dict[InstanceId, list[ProposedFix]] = {}
    for name, instance in by_id.items():
        read_base = partial(mirrors.read_file, instance.repo, instance.base_commit)
        try:
            own = partial_fixes(instance, read_base, created_at=now) if PARTIAL in sources else ()
            fixes[name] = [propose(row, read_base) for row in (*rows[name], *own)]
        except NotFound as error:
            left.append(Left.by(name, error))
    every = [fix for found in fixes.values() for fix in found]
    Store(places.store).write(list({fix.fix_id: fix for fix in every}.values()))
    usable = {
        name: tuple(dict.fromkeys(fix.fix_id for fix in found if not fix.problem)) for name, found in fixes.items()
    }
    return Proposed(
        fixes={name: ids for name, ids in usable.items() if ids},
        handed_in=len(every),
        left=tuple(left),
        problems=(*problems, *(f"{fix.source}: {fix.instance_id}: {fix.problem}" for fix in every if fix.problem)),
    )


def _read(
    store: Store, sources: Iterable[str], instances: Mapping[InstanceId, TaskInstance], now: datetime
) -> tuple[dict[InstanceId, list[Candidate]], list[str]]:
    """The rows of all repairs files by instance, and a line for each that could not be read."""
    rows: dict[InstanceId, list[Candidate]] = {name: [] for name in instances}
    problems: list[str] = []
    for source in sources:
        if source != PARTIAL:
            read = read_predictions(Path(source), instances.values(), created_at=now, several=True)
            problems += lines_of(store, source, read, instances.values())
            for row in read.candidates:
                rows[row.instance_id].append(row)
    return rows, problems


@dataclass(frozen=True, slots=True, kw_only=True)
class FixRuns(OfInstance):
    """Suites of one instance, to be run on fixes that others proposed for it."""

    env_id: EnvId
    suite_ids: tuple[SuiteId, ...]
    fix_ids: tuple[FixId, ...]


def run_on_fixes(places: Places, settings: RunSettings, unit: FixRuns) -> Ran:
    """Every run of these suites on these fixes of one instance that the store does not have."""
    store = Store(places.store)
    bench = bench_of(places, settings, unit.snapshot, unit.instance_id, unit.env_id)
    fixes, suites = store.read(ProposedFix, fix_id=unit.fix_ids), store.read(Suite, suite_id=unit.suite_ids)
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
    store.write(sorted(links - set(store.read(FixRun, fix_id=unit.fix_ids)), key=lambda link: link.run_key))
    return make_runs(places, settings, bench, (spec for *_, spec in pairs))


def judged_suites(places: Places, sql: Path, snapshot: str) -> dict[InstanceId, tuple[SuiteId, ...]]:
    """The golden suite of each instance, and those of the candidates that the grader `paper` calls solved."""
    (found,) = answers(
        places.store,
        sql,
        ("golden_suite", "task_instance", "verdict", "submission"),
        (
            f"""SELECT t.instance_id, g.suite_id AS golden, list(s.suite_id ORDER BY s.suite_id) AS solved
                FROM task_instance AS t
                JOIN golden_suite AS g ON g.instance_key = t.instance_key
                LEFT JOIN verdict AS v
                    ON v.snapshot = t.snapshot AND v.instance_id = t.instance_id AND v.grader = 'paper' AND v.solved
                LEFT JOIN submission AS s ON s.candidate_id = v.candidate_id AND s.policy = v.policy
                WHERE t.snapshot = {literal(snapshot)}
                GROUP BY ALL""",
        ),
    )
    return {
        InstanceId(row["instance_id"]): tuple(
            SuiteId(suite) for suite in dict.fromkeys([row["golden"], *row["solved"]]) if suite
        )
        for row in found.to_pylist()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Strength:
    """What the store says of a snapshot's methods on fixes of others."""

    table: pa.Table
    """The rows of `strength`."""
    statuses: str
    """How many of the fixes that were proposed are right and wrong."""


def strength_of(places: Places, sql: Path, snapshot: str, proposed: Proposed) -> Strength:
    """The strength of the snapshot's methods, and how many of these fixes are right and wrong."""
    ids = sorted(fix for fixes in proposed.fixes.values() for fix in fixes)
    table, statuses = answers(
        places.store,
        sql,
        ("strength", "fix_status"),
        (
            f"FROM strength WHERE snapshot = {literal(snapshot)}",
            f"""SELECT status, count(*) AS n FROM fix_status
                WHERE fix_id IN ({", ".join(map(literal, ids)) or "NULL"}) GROUP BY status ORDER BY status""",
        ),
    )
    said = ", ".join(f"{row['n']} {row['status']}" for row in statuses.to_pylist())
    return Strength(table=table, statuses=said)
