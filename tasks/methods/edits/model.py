"""Data types of the edit format, and the reasons why an edit can fail."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tasks.adapters.patch.render import Change


class Action(StrEnum):
    INSERT = "insert"
    REWRITE = "rewrite"
    DELETE = "delete"


class Anchor(StrEnum):
    """The position that a hint gives."""

    NONE = "none"
    START = "start"
    """`BOF` of the paper."""
    END = "end"
    """`EOF` of the paper."""
    LINE = "line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """Approximate position of an edit, in line numbers of the base commit."""

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
    """Name of the target (`TestX.test_y`), for an insertion its class; empty if the block gives no name."""
    hint: Hint
    code: str
    """The model's text; empty for a deletion by name."""
    closed: bool
    """Whether the block has its end line. Without it, the reply may be cut off."""


class EditReason(StrEnum):
    """Reasons why a reply or one of its blocks is not applied."""

    EMPTY = "empty-reply"
    NO_BLOCK = "no-block"
    """The reply has prose or code, but no edit block."""
    NO_PATH = "no-path"
    UNKNOWN_ACTION = "unknown-action"
    NO_CODE = "no-code"
    CLIMBING_PATH = "climbing-path"
    NO_SUCH_FILE = "no-such-file"
    """The file of a rewrite or a deletion does not exist."""
    NOT_PYTHON = "not-python"
    BASE_DOES_NOT_PARSE = "base-does-not-parse"
    """Our interpreter cannot parse the file of the base commit."""
    CODE_DOES_NOT_PARSE = "code-does-not-parse"
    NO_DEFINITION = "no-definition"
    """The code of a rewrite has no function or class."""
    NO_SUCH_DEFINITION = "no-such-definition"
    AMBIGUOUS = "ambiguous"
    """Several definitions have the name, and no hint selects one."""
    NO_CLASS = "no-class"
    """A method is to be inserted, but the file has no class."""
    ONE_LINE_CLASS = "one-line-class"
    NO_MATCH = "no-match"
    """Search-and-replace only: the file does not contain the original text exactly once."""
    NOTHING_CHANGED = "nothing-changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRefused:
    """A reply, or a block of one, that is not applied."""

    reason: EditReason
    detail: str
    """The path or block, and its problem."""

    def __str__(self) -> str:
        return f"{self.reason.value}: {self.detail}"


class Match(StrEnum):
    """How the place of an edit was found, from best to worst.

    `exact`    by its name, or an insertion at the hint
    `nearest`  the name occurs several times, and the hint selected one
    `fuzzy`    by a similar name near the hint, by a similar path, or after the code was repaired
    """

    EXACT = "exact"
    NEAREST = "nearest"
    FUZZY = "fuzzy"


MATCHES = tuple(Match)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """The files after all edits of a reply."""

    patch: str
    """Unified diff against the base commit, in normal form: it applies exactly."""
    changes: tuple[Change, ...]
    match: Match
    """The worst match of all edits."""
    notes: tuple[str, ...]
    """Repairs of the code, and guesses."""
    refused: tuple[EditRefused, ...]
    """Blocks that were not applied."""
