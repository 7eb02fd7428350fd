"""Render prompts from strict Jinja templates: a missing value raises an error instead of leaving a gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.adapters.retrieval.budget import fitting, token_count
from tasks.adapters.text import without_middle
from tasks.methods.method import Assignment, ContextFile

if TYPE_CHECKING:
    from jinja2 import Environment

SHARED = Path(__file__).parent / "templates"
"""Templates that any folder can include: the assignment, and the formats that `patches.py` parses."""


@dataclass(frozen=True, slots=True)
class Templates:
    """A folder of templates, `*.j2`."""

    folder: Path

    def render(self, template: str, /, **values: object) -> str:
        """Returns the text of a template of this folder, else of the shared ones. Raises `UndefinedError` for a missing
        value."""
        return _environment(self.folder).get_template(template).render(**values).strip() + "\n"

    def texts(self) -> list[str]:
        """Returns all templates that a prompt can use, in a fixed order. They are part of a method's content key."""
        paths = [*sorted(self.folder.glob("*.j2")), *sorted(SHARED.glob("*.j2"))]
        return [path.read_text(encoding="utf-8") for path in paths]


def fit(context: tuple[ContextFile, ...], tokens: int) -> tuple[ContextFile, ...]:
    """Returns the first files, whole, that together have about `tokens`."""
    sizes = [token_count(numbered(file.text)) for file in context]
    return tuple(context[at] for at in fitting(sizes, tokens))


def shortened(text: str, tokens: int) -> str:
    """Cut out the middle of a text so that about `tokens` remain."""
    size = token_count(text)
    return text if size <= tokens else without_middle(text, max(2, len(text) * tokens // size))


def numbered(text: str) -> str:
    """Returns the lines with their numbers, as all prompts show files."""
    return "\n".join(f"{number} {line}" for number, line in enumerate(text.splitlines(), start=1))


def excerpt(path: str, lines: Sequence[str], start: int, count: int) -> str:
    """Returns numbered lines of a file under its path; `start` is 1-based."""
    shown = lines[start - 1 : start - 1 + count]
    text = [f"{number} {line}" for number, line in enumerate(shown, start=start)]
    rest = len(lines) - (start - 1 + len(shown))
    return "\n".join([f"[{path}]", *text, *([f"[… {rest} more lines]"] if rest > 0 else [])])


def briefing(assignment: Assignment, context: tuple[ContextFile, ...]) -> dict[str, object]:
    """Returns the values that every template of an assignment can use."""
    return {
        "task": assignment.task,
        "command": " ".join(assignment.task.test_command),
        "context": context,
        "mode": assignment.mode.value,
        "paper_format": assignment.variant["format"] == "paper",
        "test_file": assignment.test_file,
        "code_patch": assignment.code_patch.text if assignment.code_patch else "",
    }


@cache
def _environment(folder: Path) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader([folder, SHARED]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - prompts are no markup
    )
    made.filters["numbered"] = numbered
    return made
