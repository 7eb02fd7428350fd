"""Builds edits that change no behaviour: placebo, paraphrase and right variant of a fix.

placebo      the base commit with the lines of the fix as comments
paraphrase   the fixed code with the same comments
variant      the fixed code with a private function that no code calls

The comments contain the removed and the added lines in both code states, so a search of the source text finds the same
lines in both. The edits do not rewrite code: 170 lines that used only the base commit could undo every rewrite.
"""

from __future__ import annotations

import ast
import random
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from tasks.adapters.patch.apply import Applied, ReadBase, apply_stored
from tasks.adapters.patch.read import split_lines, to_bytes
from tasks.adapters.patch.render import Change, render
from tasks.domain.guard_edit import GuardEdit
from tasks.domain.instance import TaskInstance
from tasks.domain.names import RepoPath
from tasks.domain.outcome import RunVariant
from tasks.domain.syntax import alike, syntax_tree

_COOKIE_LINES = 2
"""Python searches the first two lines of a file, comments included, for the encoding declaration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Consecutive lines that a fix removes and adds in one file."""

    line: int
    """1-based line of the base text at which the block starts, or before which lines are added."""
    new_line: int
    """The corresponding line of the fixed text."""
    removed: tuple[str, ...]
    added: tuple[str, ...]


def blocks_of(change: Change) -> Iterator[Block]:
    """Yields the changed blocks of a file that exists before and after the fix."""
    before, after = split_lines(change.before or ""), split_lines(change.after or "")
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            yield Block(line=a + 1, new_line=c + 1, removed=tuple(before[a:b]), added=tuple(after[c:d]))


def guard_edits(instance: TaskInstance, read_base: ReadBase, secret: str) -> tuple[GuardEdit, ...]:
    """Returns the placebo, the paraphrase and the right variant of an instance.

    A patch is empty if the golden patch does not apply or changes no Python file that can be edited. `secret`
    determines the name that the variant adds.
    """
    applied = apply_stored(instance.patch, read_base)
    if not isinstance(applied, Applied):
        refused = [f"golden patch: {applied.reason}"]
        return tuple(_row(instance, variant, (), refused, secret) for variant in _EDITS)
    return tuple(_edited(instance, variant, applied.changes, secret) for variant in _EDITS)


def harmless(text: str, draw: random.Random) -> str:
    """Returns `text` with a private function at its end. The function has a random name."""
    name = "".join(draw.choices(string.ascii_lowercase, k=10))
    end = "" if text.endswith("\n") or not text else "\n"
    return f"{text}{end}\n\ndef _{name}(value):\n    return value\n"


def _placebo(change: Change, _: random.Random) -> Change | str:
    if change.before is None or change.after is None:
        return "the fix adds or deletes it"
    return _quoted(change, change.before, [(block.line, block) for block in blocks_of(change)])


def _paraphrase(change: Change, _: random.Random) -> Change | str:
    if change.before is None or change.after is None:
        return "the fix adds or deletes it"
    return _quoted(change, change.after, [(block.new_line, block) for block in blocks_of(change)])


def _variant(change: Change, draw: random.Random) -> Change | str:
    if change.after is None:
        return "the fix deletes it"
    return Change(path=change.path, before=change.after, after=harmless(change.after, draw))


_Edit = Callable[[Change, random.Random], Change | str]
_EDITS: dict[RunVariant, _Edit] = {
    RunVariant.PLACEBO: _placebo,
    RunVariant.PARAPHRASE: _paraphrase,
    RunVariant.VARIANT: _variant,
}


def _edited(instance: TaskInstance, variant: RunVariant, changes: Iterable[Change], secret: str) -> GuardEdit:
    draw = random.Random(f"{secret}:{variant}")  # noqa: S311 - the seed is what is secret
    made: list[Change] = []
    skipped: list[str] = []
    for change in changes:
        edit = _EDITS[variant](change, draw) if change.path.endswith(".py") else "it is not Python"
        if isinstance(edit, str):
            skipped.append(f"{change.path}: {edit}")
        else:
            made.append(edit)
    return _row(instance, variant, made, skipped, secret)


def _row(
    instance: TaskInstance, variant: RunVariant, made: Sequence[Change], skipped: Sequence[str], secret: str
) -> GuardEdit:
    return GuardEdit(
        instance_key=instance.instance_key,
        instance_id=instance.instance_id,
        variant=variant,
        patch=render(made),
        edited=tuple(RepoPath(change.path) for change in made),
        skipped=tuple(skipped),
        secret=secret,
    )


def _quoted(change: Change, text: str, places: Sequence[tuple[int, Block]]) -> Change | str:
    """Returns `text` with each block as comments before the statement at or above its line; else why that is
    impossible."""
    try:
        tree = syntax_tree(to_bytes(text))
    except (SyntaxError, ValueError, MemoryError) as error:
        return f"it cannot be parsed: {error}"
    lines, starts = split_lines(text), _starts(tree)
    for line, block in sorted(places, key=lambda place: place[0], reverse=True):
        at = max((start for start in starts if start <= line), default=len(lines) + 1)
        if at <= _COOKIE_LINES:
            at = len(lines) + 1
        indent = lines[at - 1][: -len(lines[at - 1].lstrip()) or None] if at <= len(lines) else ""
        if at > len(lines) and lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        lines[at - 1 : at - 1] = [f"{indent}# {line}".rstrip() + "\n" for line in (*block.removed, *block.added)]
    made = "".join(lines)
    try:
        same = alike(syntax_tree(to_bytes(made)), tree)  # a comment in the first two lines can declare an encoding
    except (SyntaxError, ValueError, MemoryError):
        same = False
    return Change(path=change.path, before=text, after=made) if same else "a comment would change what it means"


def _starts(tree: ast.Module) -> frozenset[int]:
    """Returns the lines at which statements start; for a decorated definition the line of its first decorator."""
    return frozenset(
        min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt)
    )
