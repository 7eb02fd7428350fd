"""What a model wrote → what it wants done.

Anything else is `Unusable`: `no-json`, `unknown-shape`, `unknown-tool`, `bad-arguments`, `bad-list`, `bad-confidence`,
`bad-extract`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tasks.methods.conversation import Unusable
from tasks.methods.replies.json_replies import first_object

EXTRACT, VIEW_FILE, VIEW_README = "extract_relevant", "view_file", "view_readme"
SEARCHES = {"get_bm25_top10": 10, "get_bm25_top20": 20, "get_bm25_top30": 30}
TOOLS = (EXTRACT, *SEARCHES, VIEW_FILE, VIEW_README)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTool:
    """A call of a tool."""

    tool: str
    path: str = ""
    """Of `view_file`, as the model wrote it."""

    @property
    def k(self) -> int | None:
        return SEARCHES.get(self.tool)

    @property
    def label(self) -> str:
        """The tool's name in rows: the three searches are one tool."""
        return "bm25" if self.tool in SEARCHES else self.tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A final list, paths as the model wrote them."""

    paths: tuple[str, ...]
    confidences: tuple[int, ...] = ()
    """One for each path, or none at all."""

    def only(self, positions: Iterable[int]) -> Ranked:
        """The paths at some positions, in that order, with their confidences."""
        kept = tuple(positions)
        confidences = tuple(self.confidences[at] for at in kept) if self.confidences else ()
        return Ranked(paths=tuple(self.paths[at] for at in kept), confidences=confidences)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What a report comes down to."""

    explanation: str
    code: tuple[str, ...]
    errors: tuple[str, ...]
    paths: tuple[str, ...]

    @property
    def text(self) -> str:
        """As a query and for a prompt."""
        return "\n".join(part for part in (self.explanation, *self.code, *self.errors, *self.paths) if part)


class RefusedList(Unusable):
    """A list with paths that do not exist."""

    def __init__(self, ranked: Ranked, invalid: tuple[str, ...]) -> None:
        super().__init__("invalid-list", ", ".join(invalid))
        self.ranked = ranked
        self.invalid = invalid


class RefusedView(Unusable):
    """A call of a viewing tool that would show nothing."""

    def __init__(self, reason: str, detail: str, call: CallTool) -> None:
        super().__init__(reason, detail)
        self.call = call
        self.final = reason != "invalid-path"
        """Whether no other view would be shown either: the viewing is over, not only this view."""


def parse_action(text: str) -> CallTool | Ranked:
    """The call or the list in a reply; `Unusable` where it holds neither."""
    return first_object(text, _action)


def parse_extracted(text: str) -> Extracted:
    """The four parts of an extraction; a missing list is an empty one. `Unusable` for anything else."""
    return first_object(text, _extracted)


def _action(found: Mapping[str, Any]) -> CallTool | Ranked:
    if "ranked_files" in found:
        return _ranked(found)
    if "function_call" in found:
        return _call(found)
    raise Unusable("unknown-shape", "it has neither function_call nor ranked_files")


def _extracted(found: Mapping[str, Any]) -> Extracted:
    explanation = found.get("explanation", "")
    lists = [_texts(found.get(key, [])) for key in ("code", "errors", "paths")]
    if not isinstance(explanation, str) or any(one is None for one in lists):
        raise Unusable("bad-extract", "explanation has to be text, the others lists of texts")
    code, errors, paths = (one or () for one in lists)
    return Extracted(explanation=explanation.strip(), code=code, errors=errors, paths=paths)


def _call(found: Mapping[str, Any]) -> CallTool:
    name, args = found["function_call"], found.get("args") or {}
    if name not in TOOLS:
        raise Unusable("unknown-tool", f"there is no tool {str(name)[:80]!r}")
    path = args.get("file_path") if isinstance(args, dict) else None
    if name == VIEW_FILE and not (isinstance(path, str) and path.strip()):
        raise Unusable("bad-arguments", "view_file needs a file_path")
    return CallTool(tool=name, path=path.strip() if name == VIEW_FILE and path else "")


def _ranked(found: Mapping[str, Any]) -> Ranked:
    paths = _texts(found["ranked_files"])
    if not paths:
        raise Unusable("bad-list", "ranked_files has to be a list of paths, at least one")
    scores = found.get("confidence_scores")
    if scores is None:
        return Ranked(paths=paths)
    confidences = _confidences(scores, len(paths))
    if confidences is None:
        raise Unusable("bad-confidence", "confidence_scores has to hold a number 1 to 10 for each file")
    return Ranked(paths=paths, confidences=confidences)


def _confidences(scores: object, number: int) -> tuple[int, ...] | None:
    """Whole numbers, also written as text; null where they do not fit."""
    if not isinstance(scores, list) or len(scores) != number:
        return None
    found = tuple(int(text) for text in map(str, scores) if text.isdecimal() and len(text) < 4 and 1 <= int(text) <= 10)
    return found if len(found) == number else None


def _texts(value: object) -> tuple[str, ...] | None:
    """A list of texts; null if it is something else."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return None
    return tuple(one.strip() for one in value if one.strip())
