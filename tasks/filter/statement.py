"""What was known of an issue before its fix was begun: the statement, and the comments as hints.

Whoever edits an issue after a fix is under way may know the fix. So the title and the body are the versions of that
moment, and comments written or edited later are left out. GitHub keeps earlier versions unless somebody deletes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tasks.domain.collect import TRIAL_LABEL, Issue, StatementMode

_WEAKEST_LAST = tuple(StatementMode)


@dataclass(frozen=True, slots=True)
class ProblemStatement:
    """The text of one or several issues as of a moment."""

    text: str
    """Title, newline, body; of several issues one after the other, with an empty line between."""
    hints: str
    """Comments in the order of time, an empty line between."""
    mode: StatementMode


@dataclass(frozen=True, slots=True)
class _Version:
    text: str
    mode: StatementMode


def statement_before(issues: Sequence[Issue], moment: datetime) -> ProblemStatement:
    """The statement of at least one issue as of `moment`; an issue opened later counts as it was opened."""
    versions = [(_title(issue, moment), _body(issue, moment)) for issue in issues]
    texts = [f"{title.text}\n{body.text}".rstrip() for title, body in versions]
    modes = [version.mode for pair in versions for version in pair]
    hints = [hint for issue in issues for hint in _hints(issue, moment)]
    return ProblemStatement("\n\n".join(texts), "\n\n".join(hints), max(modes, key=_WEAKEST_LAST.index))


def _title(issue: Issue, moment: datetime) -> _Version:
    """The title before the first renaming after the moment."""
    cut = max(moment, issue.created_at)
    for at, before in zip(issue.rename_times, issue.rename_titles, strict=True):
        if at > cut:
            return _Version(before, StatementMode.RESTORED)
    return _Version(issue.title, StatementMode.UNEDITED)


def _body(issue: Issue, moment: datetime) -> _Version:
    """The last version that is not younger than the moment, or the first one."""
    if TRIAL_LABEL in issue.labels:
        return _Version(issue.body, StatementMode.RECONSTRUCTED)
    cut = max(moment, issue.created_at)
    if issue.edited_at is None or issue.edited_at <= cut:
        return _Version(issue.body, StatementMode.UNEDITED)
    if not issue.edit_texts or not issue.edits_complete:
        return _Version(issue.body, StatementMode.AS_FETCHED)
    earlier = [text for at, text in zip(issue.edit_times, issue.edit_texts, strict=True) if at <= cut]
    return _Version(earlier[-1] if earlier else issue.edit_texts[0], StatementMode.RESTORED)


def _hints(issue: Issue, moment: datetime) -> list[str]:
    """The comments that were there at the moment and have not been touched since."""
    comments = zip(issue.comment_touched, issue.comment_texts, strict=True)
    return [text.strip() for touched, text in comments if touched < moment and text.strip()]
