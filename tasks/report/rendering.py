"""Templates to pages. Everything is escaped; only `code.py` and `drawing.py` say that something is markup."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tasks.adapters.text import CONTROL
from tasks.report import code, naming, prose

TEMPLATES = Path(__file__).parent / "templates"

WORDS = {
    "held": "robust success",
    "solved": "solved, not fully checked",
    "refuted": "solved, but a robustness check fails",
    "missed": "not solved",
    "malformed": "not well-formed",
    "unmeasured": "unmeasured",
    "none": "no candidate",
}
"""What became of a candidate, in words."""
SIGNS = {"held": "●", "solved": "◐", "refuted": "○", "missed": "×", "malformed": "∅", "unmeasured": "?", "none": "·"}
"""The same as a sign: colour is never all that tells."""
CELLS = {
    "passed": ("✓", "passed"),
    "failed": ("✗", "failed"),
    "error": ("E", "error"),
    "timeout": ("T", "timed out"),
    "skipped": ("s", "skipped"),
    "xfailed": ("x", "failed as expected"),
    "xpassed": ("X", "passed against expectation"),
    "missing": ("–", "not there"),
    None: ("?", "not measured"),
}
"""Sign and words of the outcome of a case."""


def render(path: str, template: str, shown: Mapping[str, Any]) -> str:
    """The page at `path`. Control characters of third-party text stand as U+FFFD, wherever a template shows it."""
    page = _environment().get_template(template).render(shown, root="../" * path.count("/"), path=path)
    return CONTROL.sub("\ufffd", page)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number,
        "day": day,
        "clean": code.clean,
        "python": code.python,
        "log": code.log,
        "pieces": prose.pieces,
        "patch_lines": code.patch_lines,
        "instance_page": naming.instance_page,
        "method_page": naming.method_page,
    }
    environment.globals |= {
        "candidate_page": lambda one: naming.candidate_page(one["instance_id"], one["candidate_id"]),
        "repair_page": lambda one: naming.repair_page(one["instance_id"], one["attempt_id"]),
        "words": WORDS,
        "signs": SIGNS,
        "cells": CELLS,
    }
    return environment


def number(value: float | int | None, digits: int = 1) -> str:
    """A number for a table; what was not measured is a dash, never 0."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u202f")
    return f"{value:.{digits}f}"


def day(value: datetime | None) -> str:
    """The date of a moment."""
    return f"{value:%Y-%m-%d}" if value else "–"
