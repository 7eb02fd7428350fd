"""Parse edit blocks from a model's reply.

Our grammar (`{…}` is optional, `NAME` is `test_x`, `TestX` or `TestX.test_y`):

    edit PATH
    insert {in NAME} {at LINE | at start | at end}
    CODE
    end edit

`rewrite {NAME} {at …}` and `delete NAME {at …}` have the same form. The paper's grammar (Fig. 7) has four fixed lines:

    diff
    PATH
    insert | rewrite | delete
    LINE | EOF | BOF
    CODE
    end diff

Both may be in fences or prose, lack their last line (then `Edit.closed` is false), and use upper or lower case.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tasks.methods.edits.model import NOWHERE, Action, Anchor, Edit, EditReason, EditRefused, Hint

_OURS = re.compile(r"edit(?:\s+|:\s*)(?P<path>\S+)", re.IGNORECASE)
_PAPER = re.compile(r"diff:?", re.IGNORECASE)
_END = re.compile(r"end[ _-]?(diff|edit)\W*", re.IGNORECASE)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*[\w+.-]*\s*")
_ACTION = re.compile(
    r"[<\"'`*]*(?P<word>insert|add|create|append|rewrite|replace|delete|remove)\b[>\"'`*:]*", re.IGNORECASE
)
_IN = re.compile(r"\s*\b(?:in|into|to)?\s*(?:the\s+)?(?:class\s+)?`?(?P<name>[A-Za-z_]\w*(?:\.\w+)*)`?", re.IGNORECASE)
_AT = re.compile(
    r"(?:\b(?:at|near|after|around|line|lines)\b[\s:~]*)*[<~\"'`]*"
    r"(?P<at>\d+|eof|bof|start|end|beginning)(?:\s*[-–]\s*\d+)?[>\"'`.]*\s*$",
    re.IGNORECASE,
)
_STARTS_CODE = re.compile(r"\s*(@|def\b|class\b|async\b|import\b|from\b|#|\"\"\")")
_MEANINGS = {"insert": Action.INSERT, "rewrite": Action.REWRITE, "replace": Action.REWRITE} | dict.fromkeys(
    ("delete", "remove"), Action.DELETE
)


def read_edits(reply: str) -> tuple[tuple[Edit, ...], tuple[EditRefused, ...]]:
    """Returns the blocks of a reply in order, and the problems of unreadable ones."""
    if not reply.strip():
        return (), (EditRefused(reason=EditReason.EMPTY, detail="the reply is empty"),)
    blocks = _blocks(reply.splitlines())
    if not blocks:
        return (), (EditRefused(reason=EditReason.NO_BLOCK, detail="no line starts an edit block"),)
    read = [_edit(block, closed) for block, closed in blocks]
    return tuple(one for one in read if isinstance(one, Edit)), tuple(one for one in read if not isinstance(one, Edit))


def _blocks(lines: Sequence[str]) -> list[tuple[list[str], bool]]:
    """Returns the lines of each block, including the first line, and whether it has its end line."""
    blocks: list[tuple[list[str], bool]] = []
    block: list[str] | None = None
    for number, line in enumerate(lines):
        if block is not None and _END.fullmatch(line.strip()):
            blocks.append((block, True))
            block = None
        elif _starts(lines, number):
            if block is not None:
                blocks.append((block, False))
            block = [line]
        elif block is not None:
            block.append(line)
    return [*blocks, (_before_fence(block), False)] if block is not None else blocks


def _starts(lines: Sequence[str], number: int) -> bool:
    """Whether a block starts at this line. The action on a following line distinguishes it from prose and code."""
    line = lines[number].strip().strip("`")
    if match := _OURS.fullmatch(line):
        below = number + 1
        return below < len(lines) and (_ACTION.match(lines[below].strip()) is not None or "/" in match["path"])
    if not _PAPER.fullmatch(line):
        return False
    return any(_ACTION.match(below.strip()) for below in lines[number + 1 : number + 4])


def _before_fence(block: list[str]) -> list[str]:
    """Cut an unclosed block at a fence that closes the text around it."""
    fences = [at for at, line in enumerate(block) if at > 2 and _FENCE.fullmatch(line)]
    return block[: fences[-1]] if len(fences) % 2 else block


def _edit(block: list[str], closed: bool) -> Edit | EditRefused:
    ours = _OURS.fullmatch(block[0].strip().strip("`"))
    head = [line for line in block[1:] if line.strip() and not _FENCE.fullmatch(line)][:3]
    path = _path(ours["path"]) if ours else _path(head[0] if head else "")
    if not path or _ACTION.fullmatch(path):
        return EditRefused(reason=EditReason.NO_PATH, detail=f"the block {block[0].strip()!r} names no file")
    verbs = head if ours else head[1:]
    action = _ACTION.match(verbs[0].strip()) if verbs else None
    if action is None:
        return EditRefused(reason=EditReason.UNKNOWN_ACTION, detail=f"{path}: {verbs[0].strip() if verbs else ''!r}")
    at = block.index(verbs[0], 1)
    name, hint = _where(verbs[0].strip()[action.end() :])
    if hint == NOWHERE and (below := _hint_below(block[at + 1 :])) is not None:
        at, hint = at + below[0], below[1]
    meaning = _MEANINGS.get(action["word"].lower(), Action.INSERT)
    code = "\n".join(_unfenced(block[at + 1 :]))
    if not code.strip() and not (meaning is Action.DELETE and name):
        return EditRefused(reason=EditReason.NO_CODE, detail=f"{path}: the {meaning.value} has no code")
    return Edit(path=path, action=meaning, name=name, hint=hint, code=code, closed=closed)


def _path(text: str) -> str:
    """Returns a path without the decoration that models add."""
    bare = text.strip().strip("<>`\"'*").strip().removesuffix(":")
    bare = re.sub(r"(?i)^(path|file(name)?)\s*:\s*", "", bare)
    for prefix in ("a/", "b/", "./", "/testbed/"):
        bare = bare.removeprefix(prefix)
    return bare


def _where(words: str) -> tuple[str, Hint]:
    """Parse the words after the action: `in TestX at 12` → name and hint."""
    hint = NOWHERE
    if match := _AT.search(words):
        hint, words = _hint(match["at"]), words[: match.start()]
    name = _IN.fullmatch(words.rstrip(" ,;:"))
    return (name["name"] if name else "", hint)


def _hint_below(lines: Sequence[str]) -> tuple[int, Hint] | None:
    """Returns the offset and the value of a hint on its own line below the action; None if the code follows
    directly."""
    for offset, line in enumerate(lines[:2], start=1):
        if not line.strip():
            continue
        match = _AT.fullmatch(line.strip())
        return (offset, _hint(match["at"])) if match and not _STARTS_CODE.match(line) else None
    return None


def _hint(word: str) -> Hint:
    if word.isdecimal():
        line = int(word[:9])
        return Hint(anchor=Anchor.LINE, line=line) if line else Hint(anchor=Anchor.START)
    return Hint(anchor=Anchor.END if word.lower() in ("eof", "end") else Anchor.START)


def _unfenced(lines: list[str]) -> list[str]:
    """Returns the code without blank lines and fences around it."""
    kept = list(lines)
    while kept and (not kept[0].strip() or _FENCE.fullmatch(kept[0])):
        kept.pop(0)
    while kept and (not kept[-1].strip() or _FENCE.fullmatch(kept[-1])):
        kept.pop()
    return kept
