"""Selects the Python for a project at a date."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime

from tasks.adapters.uv.plan import Interpreter
from tasks.environment.project_files.project import Project

RELEASED = {
    "3.4": date(2014, 3, 16),
    "3.5": date(2015, 9, 13),
    "3.6": date(2016, 12, 23),
    "3.7": date(2018, 6, 27),
    "3.8": date(2019, 10, 14),
    "3.9": date(2020, 10, 5),
    "3.10": date(2021, 10, 4),
    "3.11": date(2022, 10, 24),
    "3.12": date(2023, 10, 2),
    "3.13": date(2024, 10, 7),
    "3.14": date(2025, 10, 7),
}
"""First final release of each CPython (the release PEPs). Versions not listed count as unreleased."""

_BOUND = re.compile(r"(?P<op>===|==|~=|!=|>=|<=|>|<)?\s*v?(?P<version>\d{1,9}(?:\.\d{1,9})*)(?P<star>\.\*)?")
_CLASSIFIER = re.compile(r"Programming Language :: Python :: (3\.\d+)")


def choose_python(project: Project, moment: datetime, interpreters: Iterable[Interpreter]) -> Interpreter | None:
    """Returns the newest available interpreter that the project's classifiers name and that was released by `moment`.

    If the classifiers name none of those, returns the newest that `requires-python` allows. If all are newer than the
    commit, returns the oldest allowed one; None if none is allowed.
    """
    allowed = sorted((one for one in interpreters if allows(project.requires_python, one)), key=lambda one: one.number)
    fit = [one for one in allowed if _was_out(one.minor, moment)]
    if not fit:
        return allowed[0] if allowed else None
    named = {match[1] for line in project.classifiers if (match := _CLASSIFIER.fullmatch(line.strip()))}
    preferred = [one for one in fit if one.minor in named]
    return (preferred or fit)[-1]


def _was_out(minor: str, moment: datetime) -> bool:
    released = RELEASED.get(minor)
    return released is not None and released <= moment.astimezone(UTC).date()


def allows(requires_python: str, interpreter: Interpreter) -> bool:
    """Whether `requires-python` allows the interpreter; parts that cannot be parsed are ignored."""
    return all(_holds(part.strip(), interpreter.number) for part in requires_python.split(",") if part.strip())


def _holds(bound: str, have: tuple[int, ...]) -> bool:
    match = _BOUND.fullmatch(bound)
    if match is None:
        return True
    want = tuple(int(part) for part in match["version"].split("."))
    cut = have[: len(want)]
    same = cut == want
    match match["op"] or "==":
        case "==" | "===":
            return same
        case "!=":
            return not same
        case ">=":
            return have >= want
        case "<=":
            return have <= want or same
        case ">":
            return cut > want
        case "<":
            return have < want
        case _:
            return have >= want and have[: len(want) - 1] == want[:-1]
