"""Showing files part by part, within the limits on views."""

from __future__ import annotations

from dataclasses import dataclass, field

from tasks.domain.names import RepoPath
from tasks.localize.replies import VIEW_README, CallTool
from tasks.localize.repository import Codebase, parts_of, plain_path
from tasks.localize.settings import AgentSettings
from tasks.methods.conversation import Thread


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One part of a file, as it was shown."""

    path: RepoPath
    part: int
    """1-based."""
    parts: int
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoView:
    """Why a call showed nothing."""

    reason: str
    """`invalid-path`, `too-many-views`, `too-many-views-of-file`."""
    detail: str


@dataclass(slots=True)
class Viewer:
    """Remembers what was shown: the same file again shows its next part, and after the last the last again.

    A part that the thread has lost, since its prompt grew too long, counts as not shown: it is the next part again.
    """

    repository: Codebase
    settings: AgentSettings
    allowed: int = 0
    """Views that may be made in all; a review adds to it."""
    shown: list[View] = field(default_factory=list)
    thread: Thread | None = None
    """The conversation that views are shown in."""

    @property
    def left(self) -> int:
        return self.allowed - len(self.shown)

    def problem(self, call: CallTool) -> NoView | None:
        """Why this call would show nothing; null if it would show something."""
        path = self._target(call)
        if self.left <= 0:
            return NoView(reason="too-many-views", detail=f"all {len(self.shown)} views are used")
        if not path:
            return NoView(reason="invalid-path", detail=_missing(call))
        times = len(self._seen(path))
        if times >= self.settings.views_per_file:
            return NoView(reason="too-many-views-of-file", detail=f"{path} was viewed {times} times")
        return None

    def view(self, call: CallTool) -> View:
        """The next part of a file. Only for a call that has no problem."""
        path = self._target(call)
        parts = parts_of(self.repository.read(path), self.settings.part_tokens)
        seen = {view.part for view in self._seen(path)}
        part = next((part for part in range(1, len(parts) + 1) if part not in seen), len(parts))
        view = View(path=path, part=part, parts=len(parts), content=parts[part - 1])
        self.shown.append(view)
        return view

    def _seen(self, path: RepoPath) -> list[View]:
        """The views of a file that are still in the thread."""
        thread = self.thread
        return [view for view in self.shown if view.path == path and (thread is None or thread.holds(view.content))]

    def _target(self, call: CallTool) -> RepoPath:
        """The file that a call means; empty where there is none."""
        path = RepoPath(self.repository.readme) if call.tool == VIEW_README else plain_path(call.path)
        known = path in self.repository.paths or (path and path == self.repository.readme)
        return path if known else RepoPath("")


def _missing(call: CallTool) -> str:
    if call.tool == VIEW_README:
        return "the repository has no README"
    return "the repository has no such Python file that could be ranked"
