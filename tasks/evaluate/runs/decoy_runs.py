"""Decoys of an instance: made once, then tried by the golden tests until enough are valid.

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
"""Decoys that golden tests try first. Most instances have three valid ones among them."""
TRIES = (FIRST, MOST)
_OTHERS = 6
"""Other instances of the repository whose golden patches are tried on the base commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoyState:
    """What `decoy_state` says of one instance."""

    suite_id: SuiteId
    """The golden tests."""
    chosen: tuple[FixId, ...]
    short: bool
    untried: tuple[int, ...] | None
    """Numbers of the decoys that golden tests did not run on; None where none was proposed yet."""
    wrong: tuple[FixId, ...]

    def lacks(self, tries: int) -> bool:
        """Whether golden tests have to run on more of the first decoys."""
        return self.short and (self.untried is None or any(number < tries for number in self.untried))


def decoy_states(
    places: Places, sql: Path, snapshot: str, instances: Collection[InstanceId]
) -> dict[InstanceId, DecoyState]:
    """The decoys of these instances; those without golden tests are left out."""
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
    """Golden tests of one instance, to be run on its decoys."""

    suite_id: SuiteId
    tries: int
    """How many decoys, in their order."""
    wrong: tuple[FixId, ...] = ()
    """Repairs that decoys can be made of."""


def decoy_units(
    states: Mapping[InstanceId, DecoyState], snapshot: str, environments: Mapping[InstanceId, EnvId], tries: int
) -> list[DecoyRuns]:
    """One unit for each instance that has too few decoys, and some that golden tests did not run on."""
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
    """Every run of the golden tests on the first decoys of the instance that the store does not have."""
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
    """The decoys of an instance in their order; made, with their fixes, where the store has none."""
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
    """Instances of the same snapshot and repository, the nearest in number first."""
    number = _number(instance)
    found = [one for one in store.read(TaskInstance, snapshot=instance.snapshot) if one.repo == instance.repo]
    return tuple(sorted(found, key=lambda one: (abs(_number(one) - number), one.instance_id))[1 : _OTHERS + 1])


def _number(instance: TaskInstance) -> int:
    """Of its pull request; 0 where the id does not end in one."""
    end = instance.instance_id.rpartition("-")[2]
    return int(end) if end.isdecimal() else 0
