from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tasks.adapters.uv.plan import Interpreter
from tasks.environment.project_files.project import Project
from tasks.environment.project_files.pythons import RELEASED, allows, choose_python


def made(version: str) -> Interpreter:
    return Interpreter(path=Path("/p"), version=version, base_prefix=Path("/"))


HAVE = tuple(made(version) for version in ("3.13.0", "3.12.1", "3.11.7", "3.9.18", "3.6.15"))
CLASSIFIER = "Programming Language :: Python :: "


@pytest.mark.parametrize(
    ("requires", "version", "allowed"),
    [
        ("", "3.6.15", True),
        (">=3.8", "3.9.18", True),
        (">=3.10", "3.9.18", False),
        (">=3.7.2,<4", "3.9.18", True),
        ("<3.9", "3.9.18", False),
        ("<=3.9", "3.9.18", True),
        (">3.9", "3.9.18", False),
        (">=2.7, !=3.0.*, !=3.9.*", "3.9.18", False),
        ("~=3.6", "3.9.18", True),
        ("~=3.9.20", "3.9.18", False),
        ("==3.9.*", "3.9.18", True),
        ("something else", "3.9.18", True),
    ],
)
def test_requires_python(requires: str, version: str, allowed: bool) -> None:
    assert allows(requires, made(version)) is allowed


@pytest.mark.parametrize(
    ("date", "requires", "classifiers", "expected"),
    [
        ((2023, 10, 2), "", (), "3.12.1"),
        ((2023, 10, 1), "", (), "3.11.7"),
        ((2024, 1, 1), "<3.12", (), "3.11.7"),
        ((2024, 1, 1), "", ("3.8", "3.9"), "3.9.18"),
        ((2024, 1, 1), "", ("3.10",), "3.12.1"),
        ((2020, 1, 1), "", ("3.9",), "3.6.15"),
        ((2016, 12, 22), "", (), "3.6.15"),
        ((2016, 12, 22), ">=3.7", ("3.7",), "3.9.18"),
        ((2024, 1, 1), ">=3.14", (), None),
    ],
)
def test_the_newest_that_fits_and_was_out(
    date: tuple[int, int, int], requires: str, classifiers: tuple[str, ...], expected: str | None
) -> None:
    project = Project(requires_python=requires, classifiers=tuple(CLASSIFIER + minor for minor in classifiers))
    chosen = choose_python(project, datetime(*date, tzinfo=UTC), HAVE)
    assert (chosen.version if chosen else None) == expected


def test_the_table_of_releases_is_in_order() -> None:
    assert list(RELEASED.values()) == sorted(RELEASED.values())
