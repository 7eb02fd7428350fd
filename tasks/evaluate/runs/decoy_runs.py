"""Generates the decoys of an instance once, and runs the golden tests on them until enough are valid.

Reads `task_instance`, `environment`, `suite`; writes `decoy`, `proposed_fix`, `fix_run` and the tables of a run.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.store.maintenance.claims import claims_of
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.cached_answers import kept_answers
from tasks.adapters.store.views.database import selection
from tasks.domain.candidate import Suite
from tasks.domain.decoy import Decoy
from tasks.domain.instance import TaskInstance
from tasks.domain.names import EnvId, FixId, InstanceId, SuiteId
from tasks.domain.places import Places
from tasks.domain.proposed_fix import ProposedFix
from tasks.domain.undone import InEnvironment
from tasks.evaluate.runs.plan import RunContext, decoy_spec
from tasks.evaluate.task import Purpose, Ran, RunSettings, SuiteRuns, bench_of, make_runs, run_suites, write_fix_runs
from tasks.integrity.decoys import MOST, decoys_of

FIRST = 5
"""Number of decoys in the first round of golden tests. Most instances have three valid ones among them."""
TRIES = (FIRST, MOST)
_OTHERS = 6
"""Number of other instances of the repository whose golden patches are tried as decoys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoyState:
    """The row of `decoy_state` for one instance."""

    suite_id: SuiteId
    """The golden tests."""
    chosen: tuple[FixId, ...]
    short: bool
    untried: tuple[int, ...] | None
    """Numbers of the decoys without a run of the golden tests; None if no decoy was proposed yet."""
    wrong: tuple[FixId, ...]

    def lacks(self, tries: int) -> bool:
        """Whether the golden tests still have to run on some of the first `tries` decoys."""
        return self.short and (self.untried is None or any(number < tries for number in self.untried))


def decoy_states(
    places: Places, sql: Path, snapshot: str, instances: Collection[InstanceId]
) -> dict[InstanceId, DecoyState]:
    """Returns the decoy states of these instances; instances without golden tests are left out."""
    asked = selection("decoy_state", {"snapshot": [snapshot]})
    (found,) = kept_answers(places.store, sql, ("decoy_state",), (asked,), places.answers)
    return {
        InstanceId(row["instance_id"]): DecoyState(
            suite_id=SuiteId(row["suite_id"]),
            chosen=tuple(map(FixId, row["chosen"])),
            short=row["short"],
            untried=None if row["untried"] is None else tuple(row["untried"]),
            wrong=tuple(map(FixId, row["wrong"])),
        )
        for row in found.to_pylist()
        if row["instance_id"] in instances
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoyRuns(InEnvironment):
    """Golden tests of one instance to run on its decoys."""

    suite_id: SuiteId
    tries: int
    """Number of decoys, from the first on."""
    wrong: tuple[FixId, ...] = ()
    """Wrong fixes from which decoys can be made."""


def decoy_units(
    states: Mapping[InstanceId, DecoyState], snapshot: str, environments: Mapping[InstanceId, EnvId], tries: int
) -> list[DecoyRuns]:
    """Returns one task per instance that has too few decoys and some without a run of the golden tests."""
    return [
        DecoyRuns(
            snapshot=snapshot,
            instance_id=name,
            env_id=environments[name],
            suite_id=state.suite_id,
            tries=tries,
            wrong=state.wrong,
        )
        for name, state in states.items()
        if state.lacks(tries)
    ]


def try_decoys(places: Places, settings: RunSettings, unit: DecoyRuns) -> Ran:
    """Runs the golden tests on the first decoys of the instance, except for stored runs."""
    store = Store(places.store)
    bench = bench_of(places, settings, unit.snapshot, unit.instance_id, unit.env_id)
    with claims_of(store, places.cache).claim(f"decoys-{bench.instance.instance_key}", wait=True):
        decoys = _decoys(store, places, bench, unit.wrong)
    golden = SuiteRuns(
        snapshot=unit.snapshot,
        instance_id=unit.instance_id,
        env_id=unit.env_id,
        suite_ids=(unit.suite_id,),
        purpose=Purpose.JUDGE,
    )
    reference = run_suites(places, settings, golden)
    fixes = store.read(ProposedFix, fix_id=tuple(decoy.fix_id for decoy in decoys[: unit.tries]))
    suites = store.read(Suite, suite_id=unit.suite_id)
    specs = [(fix, suite, decoy_spec(bench, suite, fix)) for fix in fixes for suite in suites]
    write_fix_runs(store, specs)
    return reference + make_runs(places, settings, bench, (spec for *_, spec in specs))


def _decoys(store: Store, places: Places, bench: RunContext, wrong: tuple[FixId, ...]) -> tuple[Decoy, ...]:
    """Returns the decoys of an instance in order. Generates and stores them, with their fixes, if the store has
    none."""
    instance = bench.instance
    known = store.read(Decoy, instance_key=instance.instance_key)
    if known:
        return tuple(sorted(known, key=lambda decoy: decoy.number))
    read_base = partial(Mirrors(places.mirrors).read_file, instance.repo, instance.base_commit)
    decoys = decoys_of(
        instance,
        read_base,
        python=bench.environment.python,
        secret=secrets.token_hex(16),
        others=_others(store, instance),
        wrong=store.read(ProposedFix, fix_id=wrong) if wrong else (),
    )
    store.write([_fix(decoy) for decoy in decoys])
    store.write(decoys)
    return decoys


def _fix(decoy: Decoy) -> ProposedFix:
    return ProposedFix(
        fix_id=decoy.fix_id,
        instance_key=decoy.instance_key,
        instance_id=decoy.instance_id,
        patch=decoy.patch,
        problem="",
        created_at=decoy.created_at,
    )


def _others(store: Store, instance: TaskInstance) -> tuple[TaskInstance, ...]:
    """Returns instances of the same snapshot and repository, by distance of their pull request numbers."""
    number = _number(instance)
    found = [one for one in store.read(TaskInstance, snapshot=instance.snapshot) if one.repo == instance.repo]
    return tuple(sorted(found, key=lambda one: (abs(_number(one) - number), one.instance_id))[1 : _OTHERS + 1])


def _number(instance: TaskInstance) -> int:
    """Returns the number of the pull request; 0 if the id does not end in a number."""
    end = instance.instance_id.rpartition("-")[2]
    return int(end) if end.isdecimal() else 0
