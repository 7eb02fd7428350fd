"""The GraphQL documents that we send, by name. They lie beside this file in `queries/`.

A name is also the `kind` of the raw pages that the query brings.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "queries"
_FRAGMENTS = {
    "...IssueFields": "issue_fields.fragment.graphql",
    "...IssueTimeline": "issue_timeline.fragment.graphql",
}
"""A fragment stands before those that it uses."""

SCHEMA = Path(__file__).parent / "schema.graphql"
"""The part of GitHub's schema that the queries use, in our words."""


def names() -> tuple[str, ...]:
    """Names of all queries, sorted."""
    files = sorted(_FOLDER.glob("*.graphql"))
    return tuple(file.stem for file in files if not file.name.endswith(".fragment.graphql"))


@cache
def document(name: str) -> str:
    """The query with this name and the fragments it uses, as text."""
    text = _read(f"{name}.graphql")
    for spread, file in _FRAGMENTS.items():
        if spread in text:
            text = f"{text}\n{_read(file)}"
    return text


def _read(file: str) -> str:
    return (_FOLDER / file).read_text(encoding="utf-8")
