"""Search-and-replace blocks, the format of AutoCodeRover's second stage:

    <file>PATH</file>
    <original>lines of the file</original>
    <patched>their replacement</patched>

An empty original appends to the file or creates it. The original must occur exactly once in the file. It is compared
exactly, then without blanks at line ends, then without indentation.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tasks.adapters.patch.apply import ReadBase
from tasks.adapters.patch.paths import path_problem
from tasks.adapters.patch.read import split_lines, to_text
from tasks.adapters.patch.render import Change, render
from tasks.methods.edits.model import MATCHES, Edited, EditReason, EditRefused, Match

_TAG = re.compile(r"<(/?)(file|original|patched)>", re.IGNORECASE)
_PARTS = ("file", "/file", "original", "/original", "patched", "/patched")


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """One block."""

    path: str
    old: tuple[str, ...]
    """Lines without line ends; empty for an addition."""
    new: tuple[str, ...]


def read_replacements(reply: str) -> tuple[Replacement, ...]:
    """Returns the complete blocks of a reply, in order."""
    text = reply.replace("\r\n", "\n")
    blocks: list[Replacement] = []
    tags: list[re.Match[str]] = []
    for tag in _TAG.finditer(text):
        name = (tag[1] + tag[2]).lower()
        if name == "file" and len(tags) < len(_PARTS) - 1:
            tags = [tag]  # the first block, or the last one broke off
        elif tags and name == _PARTS[len(tags)] and _only_blanks_before(text, tags, tag):
            tags.append(tag)
        if len(tags) == len(_PARTS):
            path, old, new = (text[tags[at].end() : tags[at + 1].start()] for at in (0, 2, 4))
            blocks.append(Replacement(path=_path(path), old=_lines(old), new=_lines(new)))
            tags = []
    return tuple(blocks)


def _only_blanks_before(text: str, tags: Sequence[re.Match[str]], tag: re.Match[str]) -> bool:
    """Whether only blanks separate two parts of a block. Text inside a part is not restricted."""
    return len(tags) % 2 == 1 or not text[tags[-1].end() : tag.start()].strip()


def apply_replacements(reply: str, read_base: ReadBase) -> Edited | EditRefused:
    """Apply all blocks to the files of the base commit. Returns the first refusal if any block cannot be applied."""
    blocks = read_replacements(reply)
    if not blocks:
        reason = EditReason.NO_BLOCK if reply.strip() else EditReason.EMPTY
        return EditRefused(reason=reason, detail="no whole block of file, original and patched")
    before: dict[str, str | None] = {}
    now: dict[str, str] = {}
    matches = []
    for block in blocks:
        if problem := path_problem(block.path):
            return EditRefused(reason=EditReason.CLIMBING_PATH, detail=f"{block.path!r} {problem}")
        if block.path not in now:
            data = read_base(block.path)
            before[block.path] = None if data is None else to_text(data)
            now[block.path] = before[block.path] or ""
        done = _replace(now[block.path], block, missing=before[block.path] is None and not now[block.path])
        if isinstance(done, EditRefused):
            return done
        now[block.path], match = done
        matches.append(match)
    changes = tuple(Change(path=path, before=before[path], after=text) for path, text in now.items())
    changes = tuple(change for change in changes if (change.before or "") != change.after)
    if not changes:
        return EditRefused(reason=EditReason.NOTHING_CHANGED, detail="the blocks leave every file as it is")
    worst = max(matches, key=MATCHES.index)
    return Edited(patch=render(changes), changes=changes, match=worst, notes=(), refused=())


def _replace(text: str, block: Replacement, *, missing: bool) -> tuple[str, Match] | EditRefused:
    lines = split_lines(text)
    new = [line + "\n" for line in block.new]
    if not any(line.strip() for line in block.old):
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        return "".join([*lines, *([] if missing else ["\n", "\n"]), *new]), Match.EXACT
    if missing:
        return EditRefused(reason=EditReason.NO_SUCH_FILE, detail=f"{block.path} is not there")
    for match, key in ((Match.EXACT, _exact), (Match.NEAREST, str.rstrip), (Match.FUZZY, str.strip)):
        places = _places(lines, block.old, key)
        if len(places) == 1:
            at = places[0]
            fitted = new if key is not str.strip else _reindented(block.new, lines[at : at + len(block.old)])
            return "".join([*lines[:at], *fitted, *lines[at + len(block.old) :]]), match
        if places:
            detail = f"{block.path}: the original is there {len(places)} times"
            return EditRefused(reason=EditReason.NO_MATCH, detail=detail)
    return EditRefused(reason=EditReason.NO_MATCH, detail=f"{block.path}: {block.old[0].strip()[:80]!r} … is not there")


def _exact(line: str) -> str:
    return line.rstrip("\r\n")


def _places(lines: Sequence[str], old: Sequence[str], key: Callable[[str], str]) -> list[int]:
    """Returns the positions of `old` in `lines`, compared by `key`."""
    wanted = [key(line) for line in old]
    there = [key(line) for line in lines]
    size = len(wanted)
    return [at for at in range(len(there) - size + 1) if there[at : at + size] == wanted]


def _reindented(new: Sequence[str], old: Sequence[str]) -> list[str]:
    """Returns the new lines with the indentation of the first line that they replace."""
    first = next(line for line in old if line.strip())
    indent = first[: len(first) - len(first.lstrip())]
    plain = textwrap.dedent("\n".join(new)).split("\n")
    return [f"{indent}{line}\n" if line.strip() else "\n" for line in plain]


def _path(text: str) -> str:
    path = text.strip().strip("`\"'")
    for prefix in ("a/", "b/", "./", "/testbed/"):
        path = path.removeprefix(prefix)
    return path


def _lines(text: str) -> tuple[str, ...]:
    """Returns the lines without the line breaks inside the tags and without fences."""
    lines = text.removeprefix("\n").rstrip().split("\n")
    if lines and lines[0].lstrip().startswith("```"):
        lines = lines[1:]
    if lines and lines[-1].strip() == "```":
        lines = lines[:-1]
    return tuple(lines) if any(line.strip() for line in lines) else ()
