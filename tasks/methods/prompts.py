"""Prompts from strict Jinja templates: a name that is missing is an error and not a gap."""

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
"""What templates of any folder may include: the assignment, and the formats that `patches.py` reads."""


@dataclass(frozen=True, slots=True)
class Templates:
    """A folder of templates, `*.j2`."""

    folder: Path

    def render(self, template: str, /, **values: object) -> str:
        """The text of a template of this folder, else of the shared ones. `UndefinedError` for a missing value."""
        return _environment(self.folder).get_template(template).render(**values).strip() + "\n"

    def texts(self) -> list[str]:
        """All that a prompt can be made of, in one order: part of what decides the work of a method."""
        paths = [*sorted(self.folder.glob("*.j2")), *sorted(SHARED.glob("*.j2"))]
        return [path.read_text(encoding="utf-8") for path in paths]


def fit(context: tuple[ContextFile, ...], tokens: int) -> tuple[ContextFile, ...]:
    """The first of the files, whole, that are about `tokens` together."""
    sizes = [token_count(numbered(file.text)) for file in context]
    return tuple(context[at] for at in fitting(sizes, tokens))


def shortened(text: str, tokens: int) -> str:
    """A text of about `tokens`: its middle is left out where it is more."""
    size = token_count(text)
    return text if size <= tokens else without_middle(text, max(2, len(text) * tokens // size))


def numbered(text: str) -> str:
    """Lines with their numbers, as all prompts show files."""
    return "\n".join(f"{number} {line}" for number, line in enumerate(text.splitlines(), start=1))


def excerpt(path: str, lines: Sequence[str], start: int, count: int) -> str:
    """Lines of a file, numbered, under its name; `start` is 1-based."""
    shown = lines[start - 1 : start - 1 + count]
    text = [f"{number} {line}" for number, line in enumerate(shown, start=start)]
    rest = len(lines) - (start - 1 + len(shown))
    return "\n".join([f"[{path}]", *text, *([f"[… {rest} more lines]"] if rest > 0 else [])])


def briefing(assignment: Assignment, context: tuple[ContextFile, ...]) -> dict[str, object]:
    """What every template of an assignment can name."""
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
