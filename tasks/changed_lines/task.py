"""Coverage: the lines that golden patches change. Reads instances; writes `changed_line`."""

from __future__ import annotations

from collections.abc import Iterator

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchedFile, PatchSet

from tasks.adapters.patch.model import LINK_MODE
from tasks.adapters.store.tables.store import Store
from tasks.domain.errors import BadInput
from tasks.domain.instance import ChangedLine, TaskInstance
from tasks.domain.names import InstanceKey, LineNo, RepoPath
from tasks.domain.outcome import CodeState
from tasks.domain.places import Places


def record_changed_lines(places: Places, instances: tuple[TaskInstance, ...]) -> int:
    """Store the changed lines of the instances that have none stored yet; the number of rows written."""
    store = Store(places.store)
    known = {row.instance_key for row in store.read(ChangedLine)}
    missing = [instance for instance in instances if instance.instance_key not in known]
    rows = [row for instance in missing for row in changed_lines(instance.instance_key, instance.patch)]
    store.write(rows)
    return len(rows)


def changed_lines(instance_key: InstanceKey, patch: str) -> tuple[ChangedLine, ...]:
    """Removed lines (numbered as before) and added ones (as after) of every Python file, in order of the patch.

    A renamed file has its removed lines under the old path and its added ones under the new. `BadInput` where the
    text is no unified diff. A symbolic link has no lines: what it holds is a path.
    """
    try:
        files = PatchSet(patch)
    except UnidiffParseError as error:
        raise BadInput(f"golden patch: {error}", hint="is the row of the instance complete?") from error
    found = (line for file in files if not _is_link(file) for line in _file_lines(instance_key, file))
    return tuple(dict.fromkeys(found))


def _is_link(file: PatchedFile) -> bool:
    """Whether the header of a file has git's mode of a symbolic link."""
    return any(line.rstrip().endswith(f" {LINK_MODE}") for line in file.patch_info or ())


def _file_lines(instance_key: InstanceKey, file: PatchedFile) -> Iterator[ChangedLine]:
    for line in (line for hunk in file for line in hunk):
        if line.is_removed:
            yield from _line(instance_key, CodeState.BEFORE, file.source_file, line.source_line_no)
        elif line.is_added:
            yield from _line(instance_key, CodeState.AFTER, file.target_file, line.target_line_no)


def _line(instance_key: InstanceKey, side: CodeState, name: str, number: int | None) -> Iterator[ChangedLine]:
    """The row, if the file is Python; `name` carries git's `a/` or `b/`."""
    if name.endswith(".py") and number is not None:
        path = RepoPath(name.removeprefix("a/" if side is CodeState.BEFORE else "b/"))
        yield ChangedLine(instance_key=instance_key, path=path, side=side, line=LineNo(number))
