"""The normal form of a patch: the diff between the files before and after it, the same text for the same change."""

from __future__ import annotations

import base64
import difflib
import hashlib
import string
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tasks.adapters.patch.links import LinkChange
from tasks.adapters.patch.model import LINK_MODE, BinaryContents
from tasks.adapters.patch.read import BINARY_PATCH, DEV_NULL, split_lines, to_bytes

CONTEXT = 3
_LINE = 52
_BLOCK = 0xFFFF
"""Bytes that one stored block can hold."""
_LENGTHS = string.ascii_uppercase + string.ascii_lowercase
NO_BLOB = "0" * 40
REGULAR, EXECUTABLE = "100644", "100755"

Opcode = tuple[str, int, int, int, int]
"""Of difflib: what to do, and the range in the old and in the new lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file before and after a patch. Text holds undecodable bytes as surrogate escapes."""

    path: str
    before: str | None
    """Null where the file is not there."""
    after: str | None
    executable: bool | None = None
    """Whether the file is made executable (or not any more); null where the patch says nothing of it."""


def render(changes: Iterable[Change]) -> str:
    """A git diff that applies exactly, files in order of their paths, renames as a deletion and an addition.

    Changes that change nothing are left out.
    """
    return "".join(_file(change) for change in sorted(changes, key=lambda change: to_bytes(change.path)))


def render_links(links: Iterable[LinkChange]) -> str:
    """A git diff of symbolic links, in order of their paths; links that stay the same are left out."""
    return "".join(_link(link) for link in sorted(links, key=lambda link: (to_bytes(link.path), link.after or "")))


def _link(link: LinkChange) -> str:
    if link.before == link.after:
        return ""
    old, new = _quote("a/" + link.path), _quote("b/" + link.path)
    if link.before is None:
        modes = f"new file mode {LINK_MODE}\n"
    elif link.after is None:
        modes = f"deleted file mode {LINK_MODE}\n"
    else:
        blobs = (blob_sha(to_bytes(target)) for target in (link.before, link.after))
        modes = f"index {'..'.join(blobs)} {LINK_MODE}\n"
    names = (DEV_NULL if link.before is None else old, DEV_NULL if link.after is None else new)
    body = _body(split_lines(link.before or ""), split_lines(link.after or ""))
    return f"diff --git {old} {new}\n{modes}--- {_tabbed(names[0])}\n+++ {_tabbed(names[1])}\n{body}"


def added_lines(before: str | None, after: str) -> frozenset[int]:
    """1-based lines of `after`, as Python counts them, that `before` lacks; all of them for a new file."""
    old, new = python_lines(before or ""), python_lines(after)
    changed = (place for group in _groups(old, new) for place in group if place[0] != "equal")
    return frozenset(number + 1 for _, _, _, start, stop in changed for number in range(start, stop))


def python_lines(text: str) -> list[str]:
    """Without their ends, as Python's parser counts them: a form feed ends none."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _file(change: Change) -> str:
    if change.before == change.after and change.executable is None:
        return ""
    old, new = _quote("a/" + change.path), _quote("b/" + change.path)
    body = _body(split_lines(change.before or ""), split_lines(change.after or ""))
    if "\0" in body:
        return f"diff --git {old} {new}\n{_modes(change)}{binary_section(_contents(change))}"
    names = (DEV_NULL if change.before is None else old, DEV_NULL if change.after is None else new)
    tail = f"--- {_tabbed(names[0])}\n+++ {_tabbed(names[1])}\n{body}" if body else ""
    return f"diff --git {old} {new}\n{_modes(change)}{tail}"


def _contents(change: Change) -> BinaryContents:
    """The whole file as it is after: a zlib stream in base85, 52 bytes a line behind a letter for how many."""
    before, after = (None if text is None else to_bytes(text) for text in (change.before, change.after))
    packed = _stored(after or b"")
    lines = (packed[at : at + _LINE] for at in range(0, len(packed), _LINE))
    data = "".join(f"{_LENGTHS[len(line) - 1]}{base64.b85encode(line, pad=True).decode()}\n" for line in lines)
    old, new = (NO_BLOB if content is None else blob_sha(content) for content in (before, after))
    size = len(after or b"")
    return BinaryContents(old=old, new=new, size=size, data=f"literal {size}\n{data}")


def _stored(data: bytes) -> bytes:
    """As zlib has it at level 0 (RFC 1950, RFC 1951 3.2.4). What a library compresses differs from one to the next, and
    so would the name of the suite."""
    starts = range(0, len(data), _BLOCK) or range(1)
    blocks = ((at + _BLOCK >= len(data), data[at : at + _BLOCK]) for at in starts)
    packed = (struct.pack("<BHH", last, len(block), len(block) ^ 0xFFFF) + block for last, block in blocks)
    return b"\x78\x01" + b"".join(packed) + struct.pack(">I", zlib.adler32(data))


def binary_section(contents: BinaryContents) -> str:
    """What stands below the header of a binary file."""
    return f"index {contents.old}..{contents.new}\n{BINARY_PATCH}\n{contents.data}\n"


def blob_sha(data: bytes) -> str:
    """The name that git gives to a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _modes(change: Change) -> str:
    mode = EXECUTABLE if change.executable else REGULAR
    if change.before is None:
        return f"new file mode {mode}\n"
    if change.after is None:
        return f"deleted file mode {REGULAR}\n"
    if change.executable is None:
        return ""
    return f"old mode {REGULAR if change.executable else EXECUTABLE}\nnew mode {mode}\n"


def _body(old: list[str], new: list[str]) -> str:
    """The hunks between two lists of lines."""
    return "".join(
        f"@@ -{_span(group[0][1], group[-1][2])} +{_span(group[0][3], group[-1][4])} @@\n"
        + signed(_group_lines(group, old, new))
        for group in _groups(old, new)
    )


def _groups(old: list[str], new: list[str]) -> list[list[Opcode]]:
    """The opcodes of each hunk. Equal heads and tails are set aside first: they are most of a file."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    matcher = difflib.SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail])
    groups = [
        [(tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in group]
        for group in matcher.get_grouped_opcodes(CONTEXT)
    ]
    if groups:
        before, after = min(head, CONTEXT), min(tail, CONTEXT)
        old_end, new_end = len(old) - tail, len(new) - tail
        groups[0].insert(0, ("equal", head - before, head, head - before, head))
        groups[-1].append(("equal", old_end, old_end + after, new_end, new_end + after))
    return groups


def _common(old: list[str], new: list[str]) -> int:
    """Length of the longest common start."""
    pairs = zip(old, new, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(old), len(new)))


def _group_lines(group: list[Opcode], old: list[str], new: list[str]) -> Iterator[str]:
    for tag, old_start, old_stop, new_start, new_stop in group:
        if tag == "equal":
            yield from (" " + line for line in old[old_start:old_stop])
        else:
            yield from ("-" + line for line in old[old_start:old_stop])
            yield from ("+" + line for line in new[new_start:new_stop])


def signed(lines: Iterable[str]) -> str:
    """Signed lines, with git's remark below one that has no newline."""
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def _span(start: int, stop: int) -> str:
    """A range of a hunk header: 1-based, and the line before it where it is empty."""
    size = stop - start
    return f"{start + 1 if size else start},{size}"


def _tabbed(name: str) -> str:
    """Git ends a name that has a space with a tab, so that what follows is no part of it."""
    return name + "\t" if " " in name else name


def _quote(name: str) -> str:
    """Git's C-style quoting, for names that need it."""
    data = to_bytes(name)
    if all(0x20 <= byte < 0x7F and byte not in b'"\\' for byte in data):
        return name
    return '"' + "".join(_escape(byte) for byte in data) + '"'


def _escape(byte: int) -> str:
    if byte in b'"\\':
        return "\\" + chr(byte)
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"
