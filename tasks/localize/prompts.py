"""The prompts beside this module, as strict templates: a placeholder without a value is an error, never empty text."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import Template

FOLDER = Path(__file__).parent / "prompts"


def render(name: str, /, **values: object) -> str:
    """`prompts/<name>.txt` with its placeholders filled. `KeyError` for one without a value."""
    return _template(name).substitute({key: str(value) for key, value in values.items()}).strip()


def shapes(*, rated: bool, tools: bool) -> str:
    """The replies that may be given: a list, with confidences if it is to be rated, or a call of a tool."""
    if tools:
        return render("review_shapes" if rated else "shapes")
    return render("review_list_shape" if rated else "list_shape")


@cache
def _template(name: str) -> Template:
    return Template((FOLDER / f"{name}.txt").read_text("utf-8"))


@cache
def prompt_version() -> str:
    """All templates as one text: part of what decides a localization."""
    return "\n".join(f"{path.name}\n{path.read_text('utf-8')}" for path in sorted(FOLDER.glob("*.txt")))
