"""What a model wrote → what it wants done. Anything else has a named reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LONGEST = 100_000
"""Characters of a reply that are looked at."""
STARTS = 50
"""Opening braces that are tried as the start of an object."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """A reply that is none of these."""

    reason: str
    """`no-json`, `unknown-shape`, `unknown-tool`, `bad-arguments`, `bad-list`, `bad-confidence`, `bad-extract`."""
    detail: str


Action = CallTool | Ranked | Unusable


def first_object(text: str) -> Mapping[str, Any] | None:
    """The first balanced JSON object in a text, whatever stands around it; null if there is none."""
    decoder = json.JSONDecoder()
    text, at = text[:LONGEST], -1
    for _ in range(STARTS):
        at = text.find("{", at + 1)
        if at < 0:
            return None
        try:
            value, _end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return None


def parse_action(text: str) -> Action:
    """The call or the list in a reply."""
    found = first_object(text)
    if found is None:
        return Unusable(reason="no-json", detail="it holds no JSON object")
    if "ranked_files" in found:
        return _ranked(found)
    if "function_call" in found:
        return _call(found)
    return Unusable(reason="unknown-shape", detail="it has neither function_call nor ranked_files")


def parse_extracted(text: str) -> Extracted | Unusable:
    """The four parts of an extraction; a missing list is an empty one."""
    found = first_object(text)
    if found is None:
        return Unusable(reason="no-json", detail="it holds no JSON object")
    explanation = found.get("explanation", "")
    lists = [_texts(found.get(key, [])) for key in ("code", "errors", "paths")]
    if not isinstance(explanation, str) or any(one is None for one in lists):
        return Unusable(reason="bad-extract", detail="explanation has to be text, the others lists of texts")
    code, errors, paths = (one or () for one in lists)
    return Extracted(explanation=explanation.strip(), code=code, errors=errors, paths=paths)


def _call(found: Mapping[str, Any]) -> Action:
    name, args = found["function_call"], found.get("args") or {}
    if name not in TOOLS:
        return Unusable(reason="unknown-tool", detail=f"there is no tool {str(name)[:80]!r}")
    path = args.get("file_path") if isinstance(args, dict) else None
    if name == VIEW_FILE and not (isinstance(path, str) and path.strip()):
        return Unusable(reason="bad-arguments", detail="view_file needs a file_path")
    return CallTool(tool=name, path=path.strip() if name == VIEW_FILE and path else "")


def _ranked(found: Mapping[str, Any]) -> Ranked | Unusable:
    paths = _texts(found["ranked_files"])
    if not paths:
        return Unusable(reason="bad-list", detail="ranked_files has to be a list of paths, at least one")
    scores = found.get("confidence_scores")
    if scores is None:
        return Ranked(paths=paths)
    confidences = _confidences(scores, len(paths))
    if confidences is None:
        return Unusable(reason="bad-confidence", detail="confidence_scores has to hold a number 1 to 10 for each file")
    return Ranked(paths=paths, confidences=confidences)


def _confidences(scores: object, number: int) -> tuple[int, ...] | None:
    """Whole numbers, also written as text; null where they do not fit."""
    if not isinstance(scores, list) or len(scores) != number:
        return None
    found = tuple(int(text) for text in map(str, scores) if text.isdecimal() and 1 <= int(text[:3]) <= 10)
    return found if len(found) == number else None


def _texts(value: object) -> tuple[str, ...] | None:
    """A list of texts; null if it is something else."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return None
    return tuple(one.strip() for one in value if one.strip())
