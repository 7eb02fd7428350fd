"""Replies → patches, with every way to fail noted in the conversation."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.adapters.patch.model import Refused
from tasks.adapters.workbench.base import Workbench
from tasks.domain.generation import Mode
from tasks.methods.conversation import Conversation
from tasks.methods.edits.apply import apply_reply
from tasks.methods.edits.model import Edited, EditRefused
from tasks.methods.edits.replace import apply_replacements
from tasks.methods.method import Assignment
from tasks.methods.replies.diffs import diffs_in, patch_from_reply
from tasks.methods.replies.scripts import script_patch


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a reply came to."""

    patch: str
    """As handed in; of a diff that does not apply, the text."""
    rung: str
    """Empty where nothing applied."""

    @property
    def applied(self) -> bool:
        return bool(self.rung)


NOTHING = Answer(patch="", rung="")


def from_diff(text: str, assignment: Assignment, bench: Workbench, conversation: Conversation) -> Answer:
    """A reply that should hold a unified diff. One that does not apply is handed in as it is: grading says so."""
    if assignment.mode is Mode.REPRODUCTION_SCRIPT:
        return from_script(text, assignment, bench, conversation)
    applied = patch_from_reply(text, bench.base)
    if isinstance(applied, Refused):
        conversation.wrong(f"{applied.reason.value}: {applied.detail}")
        return Answer(patch=next(iter(diffs_in(text)), ""), rung="")
    conversation.took("applied")
    return Answer(patch=applied.patch, rung=applied.rung.value)


def from_edits(text: str, assignment: Assignment, bench: Workbench, conversation: Conversation) -> Answer:
    """A reply that should hold blocks of the edit format."""
    if assignment.mode is Mode.REPRODUCTION_SCRIPT:
        return from_script(text, assignment, bench, conversation)
    return _edited(apply_reply(text, bench.base, bench.paths), conversation)


def from_replacements(text: str, assignment: Assignment, bench: Workbench, conversation: Conversation) -> Answer:
    """A reply that should hold search-and-replace blocks."""
    if assignment.mode is Mode.REPRODUCTION_SCRIPT:
        return from_script(text, assignment, bench, conversation)
    return _edited(apply_replacements(text, bench.base), conversation)


def from_script(text: str, assignment: Assignment, bench: Workbench, conversation: Conversation) -> Answer:
    """A reply that should hold one script."""
    made = script_patch(text, assignment.task, bench.base)
    if isinstance(made, EditRefused):
        conversation.wrong(str(made))
        return NOTHING
    conversation.took("applied")
    return Answer(patch=made, rung="exact")


def _edited(done: Edited | EditRefused, conversation: Conversation) -> Answer:
    if isinstance(done, EditRefused):
        conversation.wrong(str(done))
        return NOTHING
    for refused in done.refused:
        conversation.wrong(str(refused))
    conversation.took("applied in part" if done.refused else "applied")
    return Answer(patch=done.patch, rung=done.match.value)
