"""The nouns of a unified diff, and the ways in which one can be refused."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

LINK_MODE, SUBMODULE_MODE = "120000", "160000"
LINK_MODES = (LINK_MODE, SUBMODULE_MODE)
"""Git's file modes of a symbolic link and of a submodule."""


class Status(StrEnum):
    """What a patch does to one file."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"
    COPIED = "copied"


class Reason(StrEnum):
    """Why a patch is not taken; the values are slugs of `submission.reason`."""

    EMPTY = "empty"
    NO_DIFF = "no-diff"
    CLIMBING_PATH = "climbing-path"
    """An absolute path, one with `..`, one into `.git`, or one through a link that leaves the tree."""
    LINK = "link"
    BINARY = "binary"
    ALREADY_EXISTS = "already-exists"
    """The patch creates a file that the base commit has."""
    NO_SUCH_FILE = "no-such-file"
    """The patch edits, deletes or renames a file that the base commit lacks."""
    DOES_NOT_APPLY = "does-not-apply"
    TOO_LARGE = "too-large"
    """More text or more files than a candidate may have: `paths.MAX_CHARS`, `paths.MAX_FILES`."""


class Rung(StrEnum):
    """How far the rules had to be relaxed, from best to worst.

    `exact`            `git apply`: every line in place, line numbers may be off
    `recount`          the same after counting the lines of each hunk anew, or taking an edit of no file as a new one
    `reduced-context`  `git apply -C1 --unidiff-zero`: at least one line of context on each side that has any; a hunk
                       without context goes where its numbers say
    `fuzzy`            `--ignore-whitespace` as well; all context may be missing where every hunk removes something
    """

    EXACT = "exact"
    RECOUNT = "recount"
    REDUCED_CONTEXT = "reduced-context"
    FUZZY = "fuzzy"


RUNGS = tuple(Rung)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One `@@` block. Lines keep their sign (` `, `-`, `+`) and their newline, unless the file ends without one."""

    old_start: int
    old_count: int
    """As the header claims; `old` has what is there."""
    new_start: int
    new_count: int
    lines: tuple[str, ...]

    @property
    def old(self) -> list[str]:
        return [line[1:] for line in self.lines if line[0] != "+"]

    @property
    def new(self) -> list[str]:
        return [line[1:] for line in self.lines if line[0] != "-"]

    @property
    def counted(self) -> bool:
        """Whether the header counts its lines right."""
        return (self.old_count, self.new_count) == (len(self.old), len(self.new))


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryContents:
    """What a binary file becomes, as git writes it."""

    old: str
    """Name of the blob before, zeros where there is none; empty where the patch does not say."""
    new: str
    """Of the blob after, likewise."""
    size: int
    """Bytes that the data inflates to."""
    data: str
    """The line with the size, and the lines of base85 below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePatch:
    """What a patch says about one file."""

    old_path: str | None
    """Null for a file that is added."""
    new_path: str | None
    """Null for a file that is deleted."""
    status: Status
    old_mode: str | None
    """Git's six digits where the patch says them; null otherwise."""
    new_mode: str | None
    binary: bool
    hunks: tuple[Hunk, ...]
    contents: BinaryContents | None = None
    """Null for text, and for a binary file of which the patch only says that it differs."""

    @property
    def path(self) -> str:
        """The path after the patch; the old one of a deleted file."""
        path = self.old_path if self.new_path is None else self.new_path
        assert path is not None
        return path

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that is read or written, the old one first."""
        return tuple(dict.fromkeys(path for path in (self.old_path, self.new_path) if path is not None))

    @property
    def links(self) -> bool:
        """Whether a symbolic link or a submodule is made or edited."""
        return self.old_mode in LINK_MODES or self.new_mode in LINK_MODES

    @property
    def submodule(self) -> bool:
        """Whether it says nothing but the commit of a submodule, or that there is none any more."""
        return {self.old_mode, self.new_mode} - {None} == {SUBMODULE_MODE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A text that could be read as a diff of at least one file."""

    files: tuple[FilePatch, ...]
    notes: tuple[str, ...] = ()
    """What was tidied while reading, such as line endings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A patch that is not taken."""

    reason: Reason
    detail: str
    """The path concerned and what is wrong with it."""
