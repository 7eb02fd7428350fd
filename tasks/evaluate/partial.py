"""Partial fixes: the golden patch with one of its changes left out, for instances that nobody failed to repair yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from difflib import SequenceMatcher

from tasks.adapters.patch.apply import ReadBase, apply_stored
from tasks.adapters.patch.model import Refused
from tasks.adapters.patch.render import Change, render
from tasks.domain.candidate import Candidate
from tasks.domain.instance import TaskInstance
from tasks.domain.names import MethodName
from tasks.evaluate.controls import control

PARTIAL = MethodName("partial")


def partial_fixes(instance: TaskInstance, read_base: ReadBase, *, created_at: datetime) -> tuple[Candidate, ...]:
    """Handed in like anybody's. None where the golden patch is a single change, or does not apply.

    A change is a block of lines that the patch adds, removes or replaces, or a whole file that it adds or deletes. What
    is left may be right all the same (the change was a comment's): the golden tests say so.
    """
    applied = apply_stored(instance.patch, read_base)
    if isinstance(applied, Refused):
        return ()
    left_out = [
        (less, *applied.changes[:at], *applied.changes[at + 1 :])
        for at, change in enumerate(applied.changes)
        for less in _one_less(change)
    ]
    if len(left_out) < 2:
        return ()
    return tuple(
        replace(control(instance, PARTIAL, render(changes), created_at), source=f"{PARTIAL}:{number}")
        for number, changes in enumerate(left_out, 1)
    )


def _one_less(change: Change) -> Iterator[Change]:
    """The change of one file, each time without another block."""
    if change.before is None or change.after is None:
        yield replace(change, after=change.before)
        return
    before, after = change.before.splitlines(keepends=True), change.after.splitlines(keepends=True)
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            yield replace(change, after="".join((*after[:c], *before[a:b], *after[d:])))
