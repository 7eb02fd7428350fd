"""Turn replies into patches, and record each failure in the conversation."""

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
    """Result of a reply."""

    patch: str
    """The patch to submit. For a diff that does not apply, its text."""
    rung: str
    """How the patch was applied; empty if nothing was applied."""

    @property
    def applied(self) -> bool:
        return bool(self.rung)


NOTHING = Answer(patch="", rung="")


def from_diff(text: str, assignment: Assignment, bench: Workbench, conversation: Conversation) -> Answer:
    """Read a reply with a unified diff. A diff that does not apply is submitted unchanged, and the grader rejects
    it."""
    if assignment.mode is Mode.REPRODUCTION_SCRIPT:
        return from_script(text, assignment, bench, conversation)
    applied = patch_from_reply(text, bench.base)
    if isinstance(applied, Refused):
        conversation.wrong(f"{applied.reason.value}: {applied.detail}")
        return Answer(patch=next(iter(diffs_in(text)), ""), rung="")
    conversation.took("applied")
    return Answer(patch=applied.patch, rung=applied.rung.value)


def from_edits(text: str, assignment: Assignment, bench: Workbench, conversation: Conversation) -> Answer:
    """Read a reply with blocks of the edit format."""
    if assignment.mode is Mode.REPRODUCTION_SCRIPT:
        return from_script(text, assignment, bench, conversation)
    return _edited(apply_reply(text, bench.base, bench.paths), conversation)


def from_replacements(text: str, assignment: Assignment, bench: Workbench, conversation: Conversation) -> Answer:
    """Read a reply with search-and-replace blocks."""
    if assignment.mode is Mode.REPRODUCTION_SCRIPT:
        return from_script(text, assignment, bench, conversation)
    return _edited(apply_replacements(text, bench.base), conversation)


def from_script(text: str, assignment: Assignment, bench: Workbench, conversation: Conversation) -> Answer:
    """Read a reply with one script."""
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
