"""Apply the edits of a reply: returns changed files and one unified diff. Writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tasks.adapters.patch.paths import path_problem
from tasks.adapters.patch.read import to_text
from tasks.adapters.patch.render import Change, render
from tasks.methods.edits.model import (
    MATCHES,
    Action,
    Anchor,
    Edit,
    Edited,
    EditReason,
    EditRefused,
    Match,
)
from tasks.methods.edits.outline import Outline, outline
from tasks.methods.edits.place import perform
from tasks.methods.edits.read_edits import read_edits
from tasks.methods.edits.snippet import read_snippet

ReadBase = Callable[[str], bytes | None]
"""Returns the bytes of a file of the base commit; None if there is no such file."""


def apply_reply(reply: str, read_base: ReadBase, paths: Sequence[str] = ()) -> Edited | EditRefused:
    """Apply a reply's blocks to the files of the base commit.

    `paths` are all files of the base commit. They allow a match by the end of a path whose beginning is wrong. Blocks
    that cannot be applied are listed in the result. If no block can be applied, returns the first refusal.
    """
    edits, unreadable = read_edits(reply)
    if not edits:
        return unreadable[0]
    return apply_edits(edits, read_base, paths, unreadable)


def apply_edits(
    edits: Iterable[Edit], read_base: ReadBase, paths: Sequence[str] = (), refused: Sequence[EditRefused] = ()
) -> Edited | EditRefused:
    """Apply edits in order. Each edit sees the result of earlier ones."""
    files = _EditedFiles(read_base, paths)
    left_out = list(refused)
    matches: list[Match] = []
    for edit in edits:
        outcome = files.apply(edit)
        if isinstance(outcome, EditRefused):
            left_out.append(outcome)
        else:
            matches.append(outcome)
    changes = files.changes()
    if not changes:
        nothing = EditRefused(reason=EditReason.NOTHING_CHANGED, detail="the edits leave every file as it is")
        return left_out[0] if left_out else nothing
    return Edited(
        patch=render(changes),
        changes=changes,
        match=max(matches, key=MATCHES.index),
        notes=tuple(dict.fromkeys(files.notes)),
        refused=tuple(left_out),
    )


@dataclass(slots=True)
class _EditedFile:
    """One file during editing: lines with an outline, or plain text if it is no Python file."""

    before: str | None
    text: str
    outline: Outline | None = None
    parsed: bool = False

    def after(self) -> str:
        return self.outline.text if self.outline else self.text


@dataclass(slots=True)
class _EditedFiles:
    read_base: ReadBase
    paths: Sequence[str]
    files: dict[str, _EditedFile] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def changes(self) -> tuple[Change, ...]:
        every = (Change(path=path, before=file.before, after=file.after()) for path, file in self.files.items())
        return tuple(change for change in every if (change.before or "") != change.after)

    def apply(self, edit: Edit) -> Match | EditRefused:
        path, guessed = self._resolve(edit.path)
        if problem := path_problem(path):
            return EditRefused(reason=EditReason.CLIMBING_PATH, detail=f"{path!r} {problem}")
        file = self._load(path)
        if file.before is None and not file.text and edit.action is not Action.INSERT:
            return EditRefused(reason=EditReason.NO_SUCH_FILE, detail=f"{path} is not there to {edit.action}")
        outcome = self._edit(path, file, edit)
        if isinstance(outcome, Match) and guessed:
            self.notes.append(f"{edit.path} taken for {path}")
            return Match.FUZZY
        return outcome

    def _edit(self, path: str, file: _EditedFile, edit: Edit) -> Match | EditRefused:
        if not path.endswith(".py"):
            return _edit_text(path, file, edit)
        snippet = None
        if edit.action is not Action.DELETE or (edit.code.strip() and not edit.name):
            read = read_snippet(edit.code, closed=edit.closed)
            if isinstance(read, EditRefused):
                return EditRefused(reason=read.reason, detail=f"{path}: {read.detail}")
            snippet = read
            self.notes.extend(f"{path}: {note}" for note in read.notes)
        if not file.parsed:
            file.outline, file.parsed = outline(file.text), True
        if file.outline is None:
            return EditRefused(reason=EditReason.BASE_DOES_NOT_PARSE, detail=f"{path} does not parse")
        match = perform(file.outline, edit, snippet)
        file.text = file.outline.text
        return Match.FUZZY if isinstance(match, Match) and snippet and snippet.notes else match

    def _load(self, path: str) -> _EditedFile:
        if path not in self.files:
            data = self.read_base(path)
            text = None if data is None else to_text(data)
            self.files[path] = _EditedFile(before=text, text=text or "")
        return self.files[path]

    def _resolve(self, path: str) -> tuple[str, bool]:
        """Returns the path, or the file of the base commit with the same end; and whether it is a guess."""
        if path in self.files or path_problem(path.lstrip("/")) or self.read_base(path) is not None:
            return path, False
        bare = path.lstrip("/")
        longer = [known for known in self.paths if known.endswith("/" + bare)]
        shorter = [known for known in self.paths if "/" in known and bare.endswith("/" + known)]
        found = longer if len(longer) == 1 else sorted(shorter, key=len)[-1:]
        return (found[0], True) if found else (path, False)


def _edit_text(path: str, file: _EditedFile, edit: Edit) -> Match | EditRefused:
    """Insert lines into a file that is no Python file."""
    if edit.action is not Action.INSERT:
        return EditRefused(reason=EditReason.NOT_PYTHON, detail=f"{path} has no functions to {edit.action}")
    lines = file.text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    at = {Anchor.START: 0, Anchor.LINE: min(edit.hint.line, len(lines))}.get(edit.hint.anchor, len(lines))
    lines.insert(at, edit.code.rstrip("\n") + "\n")
    file.text = "".join(lines)
    return Match.EXACT
