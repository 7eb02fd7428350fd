"""Find unified diffs in a model's reply (fences, prose, several blocks) and apply them with the modes of apply.py."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tasks.adapters.patch.apply import Applied, ReadBase, apply_to_files
from tasks.adapters.patch.model import Reason, Refused
from tasks.adapters.patch.read import read_patch
from tasks.methods.replies.fences import fenced_blocks

_TAG = re.compile(r"<(?P<close>/?)(?P<tag>patch|diff)>", re.IGNORECASE)
_OPEN = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[\w-]*[ \t]*\n", re.MULTILINE)
_HEADER = re.compile(r"^(?:diff --git |--- \S|\+\+\+ \S)", re.MULTILINE)
_BINARY = re.compile(r"^Binary files .* differ$", re.MULTILINE)


def diffs_in(reply: str) -> tuple[str, ...]:
    """Returns the texts that can be the reply's diff, most likely first. Candidates: all blocks joined, the last block,
    the text after an open fence, the whole text."""
    text = reply.replace("\r\n", "\n")
    blocks = [block for block in _blocks(text) if _HEADER.search(block)]
    ways = ["".join(blocks)] if blocks else []
    if len(blocks) > 1:
        ways.append(blocks[-1])
    if not blocks and _HEADER.search(text):
        opened = _OPEN.split(text)
        ways += [part for part in opened[1:] if _HEADER.search(part)]
        ways.append(text)
    return tuple(dict.fromkeys(_without_binaries(way) for way in ways))


def patch_from_reply(reply: str, read_base: ReadBase) -> Applied | Refused:
    """Returns the first of `diffs_in` that applies to the base commit; otherwise why the most likely one does not."""
    if not reply.strip():
        return Refused(reason=Reason.EMPTY, detail="the reply is empty")
    first: Refused | None = None
    for text in diffs_in(reply):
        read = read_patch(text)
        applied = read if isinstance(read, Refused) else apply_to_files(read, read_base)
        if isinstance(applied, Applied):
            return applied
        first = first or applied
    return first or Refused(reason=Reason.NO_DIFF, detail="the reply holds no diff")


def _blocks(text: str) -> Iterator[str]:
    """Yields the contents of fences, else of tags, each with a final newline."""
    fenced = [block.body for block in fenced_blocks(text)]
    for body in fenced or (body.removeprefix("\n") for body in _tagged(text)):
        yield body if body.endswith("\n") else body + "\n"


def _tagged(text: str) -> Iterator[str]:
    """Yields the text between an opening tag and the next closing tag of the same name."""
    opened: re.Match[str] | None = None
    for tag in _TAG.finditer(text):
        if opened is None:
            opened = None if tag["close"] else tag
        elif tag["close"] and tag["tag"].lower() == opened["tag"].lower():
            yield text[opened.end() : tag.start()]
            opened = None


def _without_binaries(text: str) -> str:
    """Remove files of a diff that only say that binaries differ, because nothing in them can be applied."""
    if not _BINARY.search(text):
        return text
    parts = re.split(r"^(?=diff --git |--- )", text, flags=re.MULTILINE)
    return "".join(part for part in parts if not _BINARY.search(part))
