"""Ability: a fit over all snapshots. Reads verdicts; writes `method_ability`, `snapshot_difficulty`, `time_effect`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tasks.ability.scale import Counts, Floats, Scale, fit, resampled
from tasks.ability.time_effect import time_effect
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import selection
from tasks.adapters.store.views.in_memory import answers
from tasks.domain.ability import MethodAbility, SnapshotDifficulty, TimeEffect
from tasks.domain.errors import NotFound
from tasks.domain.names import SnapshotName
from tasks.domain.places import Places

LOW, HIGH = 2.5, 97.5
"""Percentiles of the refits that are an interval's ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """A unit of work: one fit."""

    grader: str
    guarded: bool
    snapshots: tuple[str, ...]
    """Empty: all of them."""
    times: int
    """Refits behind an interval."""
    seed: int

    @property
    def subject(self) -> str:
        return self.grader

    @property
    def scope(self) -> str:
        return "guarded" if self.guarded else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Which method solved which instance."""

    methods: tuple[tuple[str, str | None], ...]
    """Method and model."""
    snapshots: tuple[str, ...]
    snapshot: Counts
    """Number of each instance's snapshot."""
    solved: Floats
    """Instances × methods; nan where it was not measured."""


def rate(places: Places, sql: Path, unit: Rating) -> int:
    """Fit, and store what was found; the number of methods. `NotFound` where nothing was judged."""
    cells = read_cells(places, sql, unit)
    scale = fit(cells.solved, cells.snapshot)
    again = list(resampled(cells.solved, cells.snapshot, scale, unit.times, unit.seed))
    fitted_at, store = datetime.now(UTC), Store(places.store)
    store.write(method_rows(unit, cells, scale, again, fitted_at))
    store.write(snapshot_rows(unit, cells, scale, again, fitted_at))
    store.write(time_rows(unit, read_times(places, sql, unit), fitted_at))
    return len(cells.methods)


def abilities(places: Places, sql: Path, unit: Rating) -> pa.Table:
    """The rows of `ability` of this fit."""
    (found,) = answers(
        places.store,
        sql,
        ("ability",),
        (selection("ability", {"grader": [unit.grader], "guarded": [unit.guarded]}),),
    )
    return found


def read_cells(places: Places, sql: Path, unit: Rating) -> Cells:
    """What was judged, without the controls and without what was withdrawn. `NotFound` for an unknown grader."""
    known = sorted(path.stem for path in (sql / "graders").glob("*.sql"))
    if unit.grader not in known:
        raise NotFound(f"there is no grader {unit.grader}", hint=f"there are {', '.join(known)}")
    (found,) = answers(
        places.store,
        sql,
        ("ability_cell",),
        (cells_question("ability_cell", unit),),
    )
    rows = found.to_pylist()
    if not rows:
        raise NotFound(
            "no method was judged on these snapshots",
            hint="`swt evaluate` judges candidates; what was withdrawn and trials (`swt snapshot list`) are not rated",
        )
    methods = tuple(sorted({(row["method"], row["model"]) for row in rows}, key=lambda name: (name[0], name[1] or "")))
    instances = sorted({(row["snapshot"], row["instance_id"]) for row in rows})
    snapshots = tuple(sorted({name for name, _ in instances}))
    solved = np.full((len(instances), len(methods)), np.nan)
    at, column = _places(instances), _places(methods)
    for row in rows:
        solved[at[row["snapshot"], row["instance_id"]], column[row["method"], row["model"]]] = row["solved"]
    number = _places(snapshots)
    month = np.array([number[name] for name, _ in instances], dtype=np.int64)
    return Cells(methods=methods, snapshots=snapshots, snapshot=month, solved=solved)


def read_times(places: Places, sql: Path, unit: Rating) -> list[dict[str, Any]]:
    """Rows of `time_cell`."""
    (found,) = answers(places.store, sql, ("time_cell",), (cells_question("time_cell", unit),))
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows


def cells_question(macro: str, unit: Rating) -> str:
    """The cells of a rating's snapshots, or of all."""
    wanted = {"snapshot": unit.snapshots} if unit.snapshots else {}
    return selection(macro, wanted, arguments=(unit.grader, unit.guarded))


def time_rows(unit: Rating, cells: Sequence[dict[str, Any]], fitted_at: datetime) -> list[TimeEffect]:
    """One for each snapshot, method and model."""
    made = []
    for (snapshot, method, model), group in groupby(cells, key=itemgetter("snapshot", "method", "model")):
        rows = list(group)
        number = _places(sorted({row["repo"] for row in rows}))
        found = time_effect(
            np.array([float(row["solved"]) for row in rows]),
            np.array([row["years"] for row in rows]),
            np.array([number[row["repo"]] for row in rows], dtype=np.int64),
        )
        made.append(
            TimeEffect(
                grader=unit.grader,
                guarded=unit.guarded,
                snapshot=SnapshotName(snapshot),
                method=method,
                model=model,
                instances=len(rows),
                repositories=len(number),
                effect=found.effect,
                low=found.low,
                high=found.high,
                p=found.p,
                spread=found.spread,
                fitted_at=fitted_at,
            )
        )
    return made


def method_rows(
    unit: Rating, cells: Cells, scale: Scale, again: Sequence[Scale], fitted_at: datetime
) -> list[MethodAbility]:
    """One for each method that was measured."""
    low, high = _interval(scale.ability, [one.ability for one in again])
    return [
        MethodAbility(
            grader=unit.grader,
            guarded=unit.guarded,
            method=method,
            model=model,
            part=int(scale.method_part[number]),
            instances=int(np.isfinite(cells.solved[:, number]).sum()),
            solved=int(np.nansum(cells.solved[:, number])),
            ability=float(scale.ability[number]),
            low=float(low[number]),
            high=float(high[number]),
            times=unit.times,
            fitted_at=fitted_at,
        )
        for number, (method, model) in enumerate(cells.methods)
    ]


def snapshot_rows(
    unit: Rating, cells: Cells, scale: Scale, again: Sequence[Scale], fitted_at: datetime
) -> list[SnapshotDifficulty]:
    """One for each snapshot."""
    low, high = _interval(scale.difficulty, [one.difficulty for one in again])
    return [
        SnapshotDifficulty(
            grader=unit.grader,
            guarded=unit.guarded,
            snapshot=SnapshotName(name),
            part=int(scale.month_part[number]),
            instances=int((cells.snapshot == number).sum()),
            difficulty=float(scale.difficulty[number]),
            low=float(low[number]),
            high=float(high[number]),
            spread=scale.spread,
            fitted_at=fitted_at,
        )
        for number, name in enumerate(cells.snapshots)
    ]


def _interval(found: Floats, again: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Ends of the 95 % interval of each value; the value itself where nothing was drawn again."""
    low, high = np.nanpercentile(np.array([found, *again]), [LOW, HIGH], axis=0)
    return low, high


def _places(names: Sequence[Any]) -> dict[Any, int]:
    return {name: at for at, name in enumerate(names)}
