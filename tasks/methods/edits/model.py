"""The nouns of the edit format, and the ways in which an edit can fail."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tasks.adapters.patch.render import Change


class Action(StrEnum):
    INSERT = "insert"
    REWRITE = "rewrite"
    DELETE = "delete"


class Anchor(StrEnum):
    """What a hint points at."""

    NONE = "none"
    START = "start"
    """`BOF` of the paper."""
    END = "end"
    """`EOF` of the paper."""
    LINE = "line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """Roughly where, in the numbering of the base commit."""

    anchor: Anchor
    line: int = 0
    """1-based; 0 unless the anchor is `line`."""


NOWHERE = Hint(anchor=Anchor.NONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One block of a reply."""

    path: str
    action: Action
    name: str
    """`TestX.test_y` where the block names what it means (for an insertion: the class); empty otherwise."""
    hint: Hint
    code: str
    """As the model wrote it; empty for a deletion by name."""
    closed: bool
    """Whether the block has its end line: one that has not may have been cut."""


class EditReason(StrEnum):
    """Why a reply or one of its blocks is not applied."""

    EMPTY = "empty-reply"
    NO_BLOCK = "no-block"
    """The reply has prose or code, but no edit block."""
    NO_PATH = "no-path"
    UNKNOWN_ACTION = "unknown-action"
    NO_CODE = "no-code"
    CLIMBING_PATH = "climbing-path"
    NO_SUCH_FILE = "no-such-file"
    """A file to rewrite or delete in is not there."""
    NOT_PYTHON = "not-python"
    BASE_DOES_NOT_PARSE = "base-does-not-parse"
    """The file at the base commit is no Python that our interpreter reads."""
    CODE_DOES_NOT_PARSE = "code-does-not-parse"
    NO_DEFINITION = "no-definition"
    """A rewrite whose code holds no function or class."""
    NO_SUCH_DEFINITION = "no-such-definition"
    AMBIGUOUS = "ambiguous"
    """Several definitions have the name and nothing tells which is meant."""
    NO_CLASS = "no-class"
    """A method is to be inserted and there is no class for it."""
    ONE_LINE_CLASS = "one-line-class"
    NO_MATCH = "no-match"
    """Search-and-replace only: the original text is not in the file, or more than once."""
    NOTHING_CHANGED = "nothing-changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRefused:
    """A reply, or a block of one, that is not applied."""

    reason: EditReason
    detail: str
    """The path or block concerned and what is wrong with it."""

    def __str__(self) -> str:
        return f"{self.reason.value}: {self.detail}"


class Match(StrEnum):
    """How the place of an edit was found, from best to worst.

    `exact`    by its name, or an insertion where the hint says
    `nearest`  the name is there several times, and the hint decided
    `fuzzy`    by a similar name near the hint, a similar path, or after the code was tidied
    """

    EXACT = "exact"
    NEAREST = "nearest"
    FUZZY = "fuzzy"


MATCHES = tuple(Match)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """What a reply's edits made of the files."""

    patch: str
    """Unified diff against the base, in normal form: it applies exactly."""
    changes: tuple[Change, ...]
    match: Match
    """The worst one that any edit needed."""
    notes: tuple[str, ...]
    """What was tidied or guessed."""
    refused: tuple[EditRefused, ...]
    """Blocks that were left out while others were applied."""
