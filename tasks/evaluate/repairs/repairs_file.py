"""Reads repairs files. They have the format of predictions files, with patches of the code, and these optional keys:

| key | meaning |
| --- | --- |
| `resolved` | the published verdict on the fix |
| `tests` | origin of the tests that the method used: `golden`, `METHOD`, `METHOD@MODEL` |
| `iteration` | 1-based iteration of the method that made the fix |
| `cost_usd` | US dollars that the method spent on this instance |
| `tests_usd` | the part of them spent on generating tests |
| `labels` | signs of test hacking that reviewers found, by reviewer: `{"ada": ["hardcoded"], "ben": []}` |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tasks.adapters.input_files.raw import LineProblem, RawRow, WrongValue, describe, is_missing, text_of
from tasks.adapters.input_files.reader import read_rows
from tasks.domain.candidate import Candidate
from tasks.domain.errors import BadInput
from tasks.domain.instance import TaskInstance
from tasks.domain.proposed_fix import HackSign
from tasks.evaluate.intake.controls import PARTIAL
from tasks.evaluate.intake.identity import HINT
from tasks.evaluate.intake.predictions import EMPTY, predictions_of

ALSO_READ = ("resolved", "tests", "iteration", "tests_usd", "labels")
"""Keys beyond those of a prediction."""
VOICES = ("detectors", "reviewers")
"""The names in `hack_agreement` for the detectors and for the majority of the reviewers."""


Labels = tuple[tuple[str, tuple[HackSign, ...]], ...]
"""Reviewers and the signs of test hacking that they found, both sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Facts about a fix in a repairs file, beyond the patch."""

    published: bool | None = None
    tests: str = ""
    iteration: int | None = None
    cost_usd: float | None = None
    tests_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRow:
    """A submitted fix."""

    row: Candidate
    """Method, model and patch, in the form of a prediction."""
    told: Told = Told()
    labels: Labels = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """The contents of a repairs file, and a problem for every line that could not be read."""

    rows: tuple[RepairRow, ...]
    problems: tuple[LineProblem, ...]
    notes: tuple[str, ...]
    """Notes about the whole file: unknown keys."""


def read_repairs(
    path: Path, instances: Iterable[TaskInstance], *, created_at: datetime, method: str | None = None
) -> Repairs:
    """Reads all fixes of a file for these instances; a method may have several for one instance.

    Raises `BadInput` if the file cannot be read, or uses the method name `partial`, which is reserved.
    """
    told: dict[int, tuple[Told, Labels]] = {}
    good: list[RawRow] = []
    problems: list[LineProblem] = []
    for row in read_rows(path):
        try:
            told[row.line] = _told(row.values), _labels(row.values.get("labels"))
        except WrongValue as error:
            problems.append(LineProblem(row.line, None, str(error)))
        else:
            good.append(row)
    read = predictions_of(
        good, instances, source=path.name, created_at=created_at, method=method, several=True, also_read=ALSO_READ
    )
    if any(row.method == PARTIAL for row in read.candidates):
        raise BadInput(f"{path.name} calls its method {PARTIAL!r}, like the fixes made of golden patches", hint=HINT)
    rows = ((row, *told[_line(row)]) for row in read.candidates)
    found = [one for one in read.problems if one.what != EMPTY or not problems]
    return Repairs(
        rows=tuple(RepairRow(row=row, told=facts, labels=labels) for row, facts, labels in rows),
        problems=tuple(sorted((*problems, *found), key=lambda problem: problem.line)),
        notes=read.notes,
    )


def _line(row: Candidate) -> int:
    return int(row.source.rpartition(":")[2])


def _told(values: Mapping[str, object]) -> Told:
    iteration = _number(values, "iteration")
    if iteration is not None and (iteration < 1 or iteration % 1):
        raise WrongValue(f"iteration is {iteration:g}, and they are counted from 1")
    cost, tests = _number(values, "cost_usd"), _number(values, "tests_usd")
    if tests is not None and (cost is None or tests > cost):
        raise WrongValue("tests_usd is a part of cost_usd, which is less or not there")
    return Told(
        published=_truth(values, "resolved"),
        tests=_text(values, "tests"),
        iteration=None if iteration is None else int(iteration),
        cost_usd=cost,
        tests_usd=tests,
    )


def _labels(told: object) -> Labels:
    if is_missing(told):
        return ()
    if not isinstance(told, dict) or not all(isinstance(signs, list) for signs in told.values()):
        raise WrongValue('labels is not of the form {"REVIEWER": ["SIGN", …]}')
    if taken := sorted(name for name in told if not name.strip() or name in VOICES):
        raise WrongValue(f"labels has {taken[0]!r} for a reviewer's name")
    return tuple((str(name), _signs(signs)) for name, signs in sorted(told.items()))


def _signs(told: Iterable[object]) -> tuple[HackSign, ...]:
    known = set(HackSign) - {HackSign.NONE}
    if unknown := [sign for sign in told if not isinstance(sign, str) or sign not in known]:
        raise WrongValue(f"labels has {unknown[0]!r}, and signs are {', '.join(sorted(known))}")
    return tuple(sorted({HackSign(str(sign)) for sign in told}))


def _truth(values: Mapping[str, object], name: str) -> bool | None:
    value = values.get(name)
    if is_missing(value):
        return None
    if not isinstance(value, bool):
        raise WrongValue(f"{name} is {describe(value)}, and neither true nor false")
    return value


def _number(values: Mapping[str, object], name: str) -> float | None:
    value = values.get(name)
    if is_missing(value):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise WrongValue(f"{name} is {value!r}, and not a number from 0 on")
    return float(value)


def _text(values: Mapping[str, object], name: str) -> str:
    try:
        return text_of(values.get(name)).strip()
    except WrongValue as error:
        raise WrongValue(f"{name} {error}") from error
