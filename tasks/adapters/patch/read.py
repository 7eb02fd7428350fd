"""Unified diffs from text of any origin: git, a model's reply with prose and fences, an editor on Windows.

A strict reader (`unidiff`, `git apply`) stops at the first oddity. This one keeps what can be told for sure: it
trusts the lines of a hunk over the counts in its header, `---`/`+++` over `diff --git`, and skips prose between files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tasks.adapters.patch.model import BinaryContents, FilePatch, Hunk, Patch, Reason, Refused, Status

DEV_NULL = "/dev/null"
_HUNK = re.compile(r"@@ -(?P<os>\d{1,15})(?:,(?P<oc>\d{1,15}))? \+(?P<ns>\d{1,15})(?:,(?P<nc>\d{1,15}))? @@")
"""Python makes no number of more than 4,300 digits."""
_LONGEST_HEADER = 10_000
"""Of a `diff --git` line: two paths as long as Linux has them. Looking for its middle takes time by the square."""
_GIT_PLAIN = re.compile(r"diff --git (?:a/(?P<old>.+) b/(?P=old)|(?P<bare>\S+) (?P=bare))")
_GIT_SPLIT = re.compile(r'diff --git (?P<old>"(?:[^"\\]|\\.)*"|\S+) (?P<new>"(?:[^"\\]|\\.)*"|\S+)')
_QUOTED = re.compile(r'\\([0-7]{3}|["\\abfnrtv])')
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", '"': '"', "\\": "\\"}
_INDEX = re.compile(r"index (?P<old>[0-9a-f]+)\.\.(?P<new>[0-9a-f]+)(?: (?P<mode>\d{6}))?")
BINARY_PATCH = "GIT binary patch"
_BINARY_SIZE = re.compile(r"(?:literal|delta) (\d{1,15})\n")
_BINARY_DATA = re.compile(r"[A-Za-z][0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]+\n")
_TIMESTAMP = re.compile(r"\t.*$|(?<!\s)\s+\d{4}-\d\d-\d\d \d\d:\d\d:\d\d.*$")
"""Looked for from the first of several spaces only: else a line of spaces takes time by the square of its length."""
CRLF_NOTE = "line endings: the patch text was CRLF"


def to_bytes(text: str) -> bytes:
    """The file's bytes of a text that came out of `to_text`, or of a JSON string with any lone surrogate."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def to_text(data: bytes) -> str:
    """UTF-8, with bytes that are not kept as surrogate escapes."""
    return data.decode("utf-8", "surrogateescape")


def split_lines(text: str) -> list[str]:
    """Lines with their newline; only `\\n` ends one, as in git."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def read_patch(text: str) -> Patch | Refused:
    """The files that `text` patches, in order."""
    if not text.strip():
        return Refused(reason=Reason.EMPTY, detail="the patch is empty")
    text = to_text(to_bytes(text))
    notes: tuple[str, ...] = ()
    if _all_crlf(text):
        text, notes = text.replace("\r\n", "\n"), (CRLF_NOTE,)
    files = _Reader(split_lines(text if text.endswith("\n") else text + "\n")).files()
    if not files:
        return Refused(reason=Reason.NO_DIFF, detail="no file header (`--- a/…`, `+++ b/…`) with a change below it")
    return Patch(files=tuple(files), notes=notes)


def _all_crlf(text: str) -> bool:
    """Whether headers too end in CRLF: then the whole text was converted, not just a file with such lines."""
    headers = re.findall(r"^(?:diff --git |--- |\+\+\+ |@@ -)[^\n]*", text, flags=re.MULTILINE)
    return bool(headers) and all(line.endswith("\r") for line in headers)


@dataclass(slots=True)
class _Draft:
    """A file whose header is being read."""

    headed: bool = False
    """Whether a `diff --git` line was seen."""
    git: tuple[str, str] | None = None
    """Its two names as written; null where a space makes them ambiguous."""
    names: tuple[str, str] | None = None
    """The `---` and `+++` paths as written, unquoted."""
    old_mode: str | None = None
    new_mode: str | None = None
    created: bool = False
    deleted: bool = False
    moved: dict[str, str] = field(default_factory=dict)
    """`rename from`, `rename to`, `copy from`, `copy to` → path."""
    binary: bool = False
    blobs: tuple[str, str] = ("", "")
    """Names of the contents before and after, from the `index` line."""
    contents: BinaryContents | None = None
    hunks: list[Hunk] = field(default_factory=list)


class _Reader:
    """One pass over the lines; `at` is the index of the line to look at."""

    def __init__(self, lines: list[str]) -> None:
        self.lines, self.at = lines, 0
        self.done: list[FilePatch] = []
        self.draft = _Draft()

    def files(self) -> list[FilePatch]:
        while self.at < len(self.lines):
            self._line(self.lines[self.at].rstrip("\n"))
        self._finish()
        return self.done

    def _line(self, line: str) -> None:
        if line.startswith("diff --git "):
            self._finish()
            self.draft = _Draft(headed=True, git=_git_names(line))
            self.at += 1
        elif self._names_follow():
            self._names()
        elif (match := _HUNK.match(line)) and self.draft.names:
            self.at += 1
            self.draft.hunks.append(self._hunk(match))
        elif line == BINARY_PATCH and self.draft.headed:
            self._binary()
        else:
            _extended_header(self.draft, line)
            self.at += 1

    def _binary(self) -> None:
        """The new contents; those that would undo them, which git writes below, are passed over as prose."""
        self.draft.binary = True
        start = self.at = self.at + 1
        if sized := _BINARY_SIZE.fullmatch("".join(self.lines[start : start + 1])):
            self.at += 1
            while self.at < len(self.lines) and _BINARY_DATA.fullmatch(self.lines[self.at]):
                self.at += 1
            old, new = self.draft.blobs
            data = "".join(self.lines[start : self.at])
            self.draft.contents = BinaryContents(old=old, new=new, size=int(sized[1]), data=data)

    def _names_follow(self) -> bool:
        """Whether a `---` line with its `+++` line is next."""
        pair = self.lines[self.at : self.at + 2]
        return len(pair) == 2 and pair[0].startswith("--- ") and pair[1].startswith("+++ ")

    def _names(self) -> None:
        if self.draft.names or self.draft.hunks:
            self._finish()
        old, new = (_unquote(_TIMESTAMP.sub("", line[4:].rstrip("\n"))) for line in self.lines[self.at : self.at + 2])
        self.draft.names = (old, new)
        self.at += 2

    def _hunk(self, match: re.Match[str]) -> Hunk:
        counts = int(match["oc"] or 1), int(match["nc"] or 1)
        stop = self._counted_end(*counts) or self._uncounted_end()
        lines = _joined(self.lines[self.at : stop])
        self.at = stop
        return Hunk(
            old_start=int(match["os"]),
            old_count=counts[0],
            new_start=int(match["ns"]),
            new_count=counts[1],
            lines=lines,
        )

    def _counted_end(self, old: int, new: int) -> int | None:
        """Where the hunk ends if its counts are right and what follows is no further line of it."""
        at = self.at
        while (old or new) and at < len(self.lines):
            sign = self.lines[at][0]
            if sign not in " -+\n\\":
                return None
            old -= sign in " -\n"
            new -= sign in " +\n"
            at += 1
        if old or new:
            return None
        while at < len(self.lines) and self.lines[at][0] == "\\":
            at += 1
        return at if not self._goes_on(at) else None

    def _goes_on(self, at: int) -> bool:
        """Whether the line at `at` can only belong to the hunk above it."""
        if at >= len(self.lines) or self.lines[at].startswith(("-- \n", "--\n")):
            return False
        return self.lines[at][0] in " -+" and self.lines[at].strip() != "" and not self._header_at(at)

    def _header_at(self, at: int) -> bool:
        line, following = self.lines[at], self.lines[at + 1] if at + 1 < len(self.lines) else ""
        return line.startswith(("diff --git ", "@@ -")) or (line.startswith("--- ") and following.startswith("+++ "))

    def _uncounted_end(self) -> int:
        """Where the hunk ends by the look of its lines; blank lines at its end are not part of it."""
        at = last = self.at
        while at < len(self.lines) and self.lines[at][0] in " -+\n\\" and not self._header_at(at):
            if self.lines[at].startswith(("-- \n", "--\n")):
                break
            at += 1
            last = at if self.lines[at - 1] != "\n" else last
        return last

    def _finish(self) -> None:
        made = _file_patch(self.draft)
        if made is not None:
            self.done.append(made)
        self.draft = _Draft()


def _joined(lines: list[str]) -> tuple[str, ...]:
    """Hunk lines with `\\ No newline at end of file` worked in, and emptied context lines restored."""
    joined: list[str] = []
    for line in lines:
        if line[0] == "\\":
            if joined:
                joined[-1] = joined[-1].removesuffix("\n")
        else:
            joined.append(" \n" if line == "\n" else line)
    return tuple(joined)


def _extended_header(draft: _Draft, line: str) -> None:
    """Git's lines between `diff --git` and `---`; anything else is prose."""
    if not draft.headed or draft.names:
        return
    key, _, mode = line.rpartition(" ")
    match key:
        case "old mode":
            draft.old_mode = mode
        case "new mode":
            draft.new_mode = mode
        case "new file mode":
            draft.created, draft.new_mode = True, mode
        case "deleted file mode":
            draft.deleted, draft.old_mode = True, mode
    for name in ("rename from", "rename to", "copy from", "copy to"):
        if line.startswith(name + " "):
            draft.moved[name] = _unquote(line.removeprefix(name + " "))
    if match := _INDEX.fullmatch(line):
        draft.blobs = match["old"], match["new"]
        if match["mode"]:
            draft.old_mode = draft.new_mode = match["mode"]
    draft.binary |= line.startswith((BINARY_PATCH, "Binary files "))


def _file_patch(draft: _Draft) -> FilePatch | None:
    """Null where the header stands above no change at all."""
    changes = draft.hunks or draft.created or draft.deleted or draft.moved or draft.binary or draft.new_mode
    pair = _pair(draft)
    if pair is None or not changes:
        return None
    old, new = pair
    return FilePatch(
        old_path=old,
        new_path=new,
        status=_status(draft, old, new),
        old_mode=draft.old_mode,
        new_mode=draft.new_mode,
        binary=draft.binary,
        hunks=tuple(draft.hunks),
        contents=draft.contents,
    )


def _status(draft: _Draft, old: str | None, new: str | None) -> Status:
    if old is None:
        return Status.ADDED
    if new is None:
        return Status.DELETED
    if old == new:
        return Status.MODIFIED
    return Status.COPIED if "copy from" in draft.moved else Status.RENAMED


def _pair(draft: _Draft) -> tuple[str | None, str | None] | None:
    """The old and the new path, null for `/dev/null`; null altogether where no path can be told."""
    for kind in ("rename", "copy"):
        if f"{kind} from" in draft.moved and f"{kind} to" in draft.moved:
            return draft.moved[f"{kind} from"], draft.moved[f"{kind} to"]
    written = draft.names or draft.git
    if written is None:
        return None
    old, new = _stripped(*written)
    if draft.created:
        old = None
    if draft.deleted:
        new = None
    if old is not None and new is not None:
        old = new  # names that differ without a rename: `x.orig`, `a/dev/null` …
    return None if old is None and new is None else (old, new)


def _stripped(old: str, new: str) -> tuple[str | None, str | None]:
    """Without git's `a/` and `b/`, where both sides that are files have them."""
    sides = [name for name in (old, new) if name not in (DEV_NULL, "a/dev/null", "b/dev/null")]
    prefixed = all(name.startswith(("a/", "b/", "i/", "w/", "c/", "o/")) for name in sides)
    paths = (None if name not in sides else name[2:] if prefixed else name for name in (old, new))
    first, second = paths
    return first, second


def _git_names(line: str) -> tuple[str, str] | None:
    """Both names of a `diff --git` line as written; null where a space makes them ambiguous, or no path is so long."""
    if len(line) > _LONGEST_HEADER:
        return None
    if plain := _GIT_PLAIN.fullmatch(line):
        name = plain["old"] or plain["bare"]
        return ("a/" + name, "b/" + name) if plain["old"] else (name, name)
    if split := _GIT_SPLIT.fullmatch(line):
        return _unquote(split["old"]), _unquote(split["new"])
    return None


def _unquote(name: str) -> str:
    """Git's C-style quoting undone: `"a/\\303\\244"` → `a/ä`."""
    if len(name) < 2 or not (name.startswith('"') and name.endswith('"')):
        return name
    pieces: list[bytes] = []
    at = 1
    for match in _QUOTED.finditer(name, 1, len(name) - 1):
        pieces.append(to_bytes(name[at : match.start()]))
        code = match[1]
        pieces.append(bytes([int(code, 8) & 0xFF]) if code.isdigit() else _ESCAPES[code].encode())
        at = match.end()
    return to_text(b"".join([*pieces, to_bytes(name[at:-1])]))
