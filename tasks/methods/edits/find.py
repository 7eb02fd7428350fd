"""Find the definition that a name and a hint mean: by name, then by distance, then by a similar name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from tasks.methods.edits.model import Anchor, EditReason, EditRefused, Hint, Match
from tasks.methods.edits.outline import Outline, OutlineEntry
from tasks.methods.edits.snippet import CodeKind

NEAR = 15
"""Maximum lines between a hint and a definition whose name is only roughly similar."""
VAGUE, CLOSE = 0.6, 0.85
"""Minimum similarity of names near the hint, and elsewhere."""
RIVAL = 0.03
"""If two names at the same distance differ by less than this in similarity, neither is chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The definition that an edit refers to."""

    kind: CodeKind | None
    """None if the edit has only a name."""
    name: str
    scope: str
    """Class of the definition; empty if the edit names none."""
    hint: Hint
    method: bool
    """Whether the code looks like a method."""


@dataclass(frozen=True, slots=True)
class FoundPlace:
    place: OutlineEntry
    match: Match


def find(outline: Outline, wanted: Wanted) -> FoundPlace | EditRefused:
    """Find the definition that the edit refers to."""
    candidates = [place for place in outline.definitions if wanted.kind in (None, place.kind)]
    named = [place for place in candidates if place.simple == wanted.name]
    scoped = [place for place in named if _in_scope(place, wanted.scope)]
    fitting = _same_level(scoped or (named if not wanted.scope else []), wanted)
    if len(fitting) == 1:
        return FoundPlace(fitting[0], Match.EXACT)
    if fitting:
        return _nearest(outline, fitting, wanted)
    similar = _similar(outline, candidates, wanted)
    if similar is None:
        full = ".".join(filter(None, (wanted.scope, wanted.name)))
        return EditRefused(reason=EditReason.NO_SUCH_DEFINITION, detail=f"nothing is called {full} or nearly so")
    return FoundPlace(similar, Match.FUZZY)


def _in_scope(place: OutlineEntry, scope: str) -> bool:
    around = place.name.rpartition(".")[0]
    return not scope or around == scope or around.endswith("." + scope)


def _same_level(places: Sequence[OutlineEntry], wanted: Wanted) -> Sequence[OutlineEntry]:
    """Prefer methods for a method and functions for a function, if several definitions match."""
    if len(places) < 2 or wanted.kind is not CodeKind.FUNCTION:
        return places
    return [place for place in places if bool(place.scope) == wanted.method] or places


def _nearest(outline: Outline, places: Sequence[OutlineEntry], wanted: Wanted) -> FoundPlace | EditRefused:
    """Returns the definition nearest to the hint. Without a hint, the last of equal names in one scope counts, as in
    Python."""
    if wanted.hint.anchor is Anchor.NONE:
        if len({place.name for place in places}) == 1:
            return FoundPlace(places[-1], Match.NEAREST)
        names = ", ".join(place.name for place in places[:4])
        return EditRefused(reason=EditReason.AMBIGUOUS, detail=f"{wanted.name} may be {names}")
    return FoundPlace(min(places, key=lambda place: distance(outline, place, wanted.hint)), Match.NEAREST)


def _similar(outline: Outline, places: Iterable[OutlineEntry], wanted: Wanted) -> OutlineEntry | None:
    """Returns the definition with the most similar name; the required similarity is higher far from the hint."""
    scored = []
    for place in places:
        if not _in_scope(place, wanted.scope):
            continue
        score = SequenceMatcher(None, wanted.name.lower(), place.simple.lower()).ratio()
        away = distance(outline, place, wanted.hint) if wanted.hint.anchor is Anchor.LINE else NEAR + 1
        if score >= (VAGUE if away <= NEAR else CLOSE):
            scored.append((score, -min(away, NEAR + 1), place.start, place))
    scored.sort(key=lambda one: one[:3])
    rivals = len(scored) > 1 and scored[-1][0] - scored[-2][0] < RIVAL and scored[-1][1] == scored[-2][1]
    return scored[-1][3] if scored and not rivals else None


def distance(outline: Outline, place: OutlineEntry, hint: Hint) -> int:
    """Returns the lines between a definition and a hint; 0 if the hint is inside."""
    if hint.anchor is Anchor.END:
        return len(outline.lines) - place.end
    line = outline.now(hint.line) if hint.anchor is Anchor.LINE else 1
    if place.covers(line):
        return 0
    return min(abs(place.start - line), abs(place.end - line))
